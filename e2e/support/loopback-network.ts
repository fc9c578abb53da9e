import { closeSync, openSync } from "node:fs";
import type { Socket } from "bun";
import { inNetworkNamespace } from "../../packages/driver-local/src/testing/network-namespace.ts";

/** Joins two connections: what one receives, the other sends. */
interface Half {
  other: Socket<Half> | undefined;
  /** Received before the other connection was there, or while it takes no more. */
  waiting: Buffer[];
  ended: boolean;
}

/** A network namespace that has loopback alone. */
export interface LoopbackNetwork extends AsyncDisposable {
  /** The command that runs `argv` in it. */
  command(argv: readonly string[]): string[];
}

function flush(half: Half): void {
  const { other } = half;
  if (!other) return;
  for (let first = half.waiting[0]; first; first = half.waiting[0]) {
    const written = Math.max(0, other.write(first));
    if (written < first.byteLength) {
      half.waiting[0] = first.subarray(written);
      return;
    }
    half.waiting.shift();
  }
  if (half.ended) other.end();
}

const relay = {
  data(socket: Socket<Half>, bytes: Buffer) {
    socket.data.waiting.push(Buffer.from(bytes));
    flush(socket.data);
  },
  drain(socket: Socket<Half>) {
    if (socket.data.other) flush(socket.data.other.data);
  },
  close(socket: Socket<Half>) {
    socket.data.ended = true;
    flush(socket.data);
  },
  error(socket: Socket<Half>) {
    socket.terminate();
  },
};

const halfOf = (other?: Socket<Half>): Half => ({ other, waiting: [], ended: false });

function connectTo(port: number, client: Socket<Half>): void {
  const open = (server: Socket<Half>) => {
    client.data.other = server;
    flush(client.data);
  };
  Bun.connect<Half>({ hostname: "127.0.0.1", port, data: halfOf(client), socket: { ...relay, open } }).catch(() => client.terminate());
}

/**
 * Makes a network namespace in which 127.0.0.1 has these ports of the machine's 127.0.0.1. A browser in it does not see that addresses of the machine
 * change, as they do when another test starts a server: Chromium fails all requests that wait for a connection then (ERR_NETWORK_CHANGED).
 */
export async function loopbackNetwork(ports: readonly number[]): Promise<LoopbackNetwork> {
  const holder = Bun.spawn(["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep infinity"], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  await holder.stdout.getReader().read();
  const namespace = openSync(`/proc/${holder.pid}/ns/net`, "r");
  const open = (port: number) => (client: Socket<Half>) => {
    client.data = halfOf();
    connectTo(port, client);
  };
  const listeners = ports.map((port) =>
    inNetworkNamespace(namespace, () => Bun.listen<Half>({ hostname: "127.0.0.1", port, socket: { ...relay, open: open(port) } })),
  );
  return {
    command: (argv) => ["nsenter", `--net=/proc/${holder.pid}/ns/net`, ...argv],
    async [Symbol.asyncDispose]() {
      for (const listener of listeners) listener.stop(true);
      closeSync(namespace);
      holder.kill("SIGKILL");
      await holder.exited;
    },
  };
}
