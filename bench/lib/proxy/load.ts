import { type Summary, summarize } from "../stats.ts";

export const BENCH_SANDBOX = "i00000000000000000000";
export const ROUTING = { "Svc-Sandbox-Id": BENCH_SANDBOX, "Svc-Sandbox-Port": "49983" };

export interface LoadOptions {
  /** Path of the requests; a function is called for the path of each request. */
  readonly path?: string | (() => string);
  /** Routing headers of the bench's sandbox by default. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly latency: Summary;
  readonly samplesMs: readonly number[];
}

/** Sends small GET requests over `connections` kept connections; each connection sends its next request when it has the last answer. */
export async function load(port: number, connections: number, requests: number, options: LoadOptions = {}): Promise<LoadResult> {
  const { path = "/", headers = ROUTING } = options;
  const next = requestMaker(port, path, headers);
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
          socket.write(next());
        },
        // The answers are small: each comes in one piece.
        data(socket) {
          const now = performance.now();
          samples.push(now - sentAt);
          if (samples.length >= requests) return resolve();
          sentAt = now;
          socket.write(next());
        },
        close: () => reject(new Error("a connection was closed")),
      },
    });
    sockets.push(socket);
  }
  await promise;
  const seconds = (performance.now() - startedAt) / 1000;
  for (const socket of sockets) socket.end();
  return { requestsPerSecond: Math.round(samples.length / seconds), latency: summarize(samples), samplesMs: samples };
}

function requestMaker(port: number, path: string | (() => string), headers: Readonly<Record<string, string>>): () => Buffer {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const rest = ` HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUser-Agent: bench\r\nAccept: */*\r\n${fields.join("")}\r\n`;
  if (typeof path === "function") return () => Buffer.from(`GET ${path()}${rest}`);
  const request = Buffer.from(`GET ${path}${rest}`);
  return () => request;
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
