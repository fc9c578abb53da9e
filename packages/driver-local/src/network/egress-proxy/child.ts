import { AppError, type Clock } from "@boxyard/core";

/** Longest wait for the process to listen, and for an answer. */
const READY_MS = 15_000;
const ANSWER_MS = 5_000;
/** Longest line that is read of it. */
const MAX_LINE = 4096;

/** One process of the egress proxy (`packages/egress-proxy/src/protocol.ts`). */
export interface ProxyChild {
  readonly isAlive: boolean;
  /** Resolves when it listens. Rejects when it ends before, or takes too long. */
  readonly ready: Promise<void>;
  /** Resolves when the rules are in force. Rejects when it ends before, or takes too long. */
  set(address: string, hosts: readonly string[]): Promise<void>;
  kill(): void;
  /** Ends it and waits for its end. */
  end(): Promise<void>;
}

interface ChildOptions {
  readonly clock: Clock;
  /** Called once, when the process has ended. */
  readonly onEnd: (how: string) => void;
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

/** Starts the process in this thread's network namespace. */
export function startProxy(command: readonly string[], { clock, onEnd }: ChildOptions): ProxyChild {
  const child = Bun.spawn([...command], { stdin: "pipe", stdout: "pipe", stderr: "inherit", env: {}, cwd: "/" });
  const waiting = new Map<number, Waiting>();
  let isAlive = true;
  let next = 1;
  /** Waits for the answer with this id; 0 stands for `ready`. */
  const answer = async (id: number, limitMs: number): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (!isAlive) throw ended("has ended");
    waiting.set(id, { resolve, reject });
    const stop = new AbortController();
    const late = clock.sleep(limitMs, stop.signal).then(
      () => reject(ended("did not answer in time")),
      () => {},
    );
    try {
      await promise;
    } finally {
      waiting.delete(id);
      stop.abort();
      await late;
    }
  };
  const ready = answer(0, READY_MS);
  ready.catch(() => {});
  void readLines(child.stdout, (line) => waiting.get(idOf(line))?.resolve()).catch(() => child.kill("SIGKILL"));
  void child.exited.then((status) => {
    isAlive = false;
    for (const { reject } of waiting.values()) reject(ended("has ended"));
    onEnd(child.signalCode === null ? `status ${status}` : String(child.signalCode));
  });
  return {
    get isAlive() {
      return isAlive;
    },
    ready,
    set(address, hosts) {
      const id = next++;
      const done = answer(id, ANSWER_MS);
      if (isAlive) {
        child.stdin.write(`${JSON.stringify({ id, address, hosts })}\n`);
        child.stdin.flush();
      }
      return done;
    },
    kill: () => child.kill("SIGKILL"),
    async end() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

const ended = (what: string) => new AppError("unavailable", `The egress proxy ${what}`, { reason: "egress_proxy" });

/** The id in an answer; -1 in any other line. It parses what sandboxes send, so its lines are not trusted. */
function idOf(line: string): number {
  try {
    const message = JSON.parse(line) as { type?: unknown; id?: unknown } | null;
    if (message?.type === "ready") return 0;
    return message?.type === "done" && typeof message.id === "number" ? message.id : -1;
  } catch {
    return -1;
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) onLine(line);
    if (text.length > MAX_LINE) throw new Error("a line of the egress proxy is too long");
  }
}
