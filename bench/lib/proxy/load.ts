import { type Summary, summarize } from "../stats.ts";

export const BENCH_SANDBOX = "i00000000000000000000";
export const ROUTING = { "Svc-Sandbox-Id": BENCH_SANDBOX, "Svc-Sandbox-Port": "49983" };

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly latency: Summary;
}

/** Small GET requests over `connections` kept connections, each sending its next one when it has its answer. */
export async function load(port: number, connections: number, requests: number): Promise<LoadResult> {
  const fields = Object.entries(ROUTING).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = Buffer.from(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUser-Agent: bench\r\nAccept: */*\r\n${fields.join("")}\r\n`);
  const samples: number[] = [];
  const sockets: { end(): void }[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const startedAt = performance.now();
  for (let i = 0; i < connections; i++) {
    let sentAt = performance.now();
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open(socket) {
          socket.write(request);
        },
        // The answers are small: each comes in one piece.
        data(socket) {
          const now = performance.now();
          samples.push(now - sentAt);
          if (samples.length >= requests) return resolve();
          sentAt = now;
          socket.write(request);
        },
        close: () => reject(new Error("a connection was closed")),
      },
    });
    sockets.push(socket);
  }
  await promise;
  const seconds = (performance.now() - startedAt) / 1000;
  for (const socket of sockets) socket.end();
  return { requestsPerSecond: Math.round(samples.length / seconds), latency: summarize(samples) };
}

/** A Bun program that prints its port, and ends with the block that uses it. */
export async function program(script: string, ...args: string[]): Promise<AsyncDisposable & { port: number; pid: number }> {
  const child = Bun.spawn([process.execPath, script, ...args], { stdout: "pipe", stderr: "inherit", stdin: "ignore" });
  const { value } = await child.stdout.getReader().read();
  return {
    port: Number(new TextDecoder().decode(value)),
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
