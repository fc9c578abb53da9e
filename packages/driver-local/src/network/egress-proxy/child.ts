import { AppError, type Clock } from "@boxyard/core";
import { canonicalHost, type HostPolicy } from "@boxyard/driver";
import type { Identity } from "../edge-authority/certificates.ts";
import { hearReport, isReport, type ProxyReports } from "./reports.ts";

/** Longest wait for the process to listen, and for an answer. */
const READY_MS = 15_000;
const ANSWER_MS = 5_000;
/** Longest line that is read of it. A sandbox decides about the URL of a miss, which must not come near. */
const MAX_LINE = 16 << 10;

/** One process of the egress proxy (`packages/egress-proxy/src/protocol.ts`). */
export interface ProxyChild {
  readonly isAlive: boolean;
  /** Resolves when it listens. Rejects when it ends before, or takes too long. */
  readonly ready: Promise<void>;
  /** Resolves when the rules are in force. Rejects when it ends before, or takes too long. */
  set(address: string, policy: HostPolicy | undefined): Promise<void>;
  /** Tells it the authorities by which it verifies servers. */
  trust(pem: string | undefined): void;
  kill(): void;
  /** Ends it and waits for its end. */
  end(): Promise<void>;
}

interface ChildOptions {
  readonly clock: Clock;
  /** Called once, when the process has ended. */
  readonly onEnd: (how: string) => void;
  /** Makes a certificate that the process asks for; undefined: not for this host. */
  readonly certificateFor: (host: string) => Promise<Identity | undefined>;
  /** What it reports of recordings and connections. */
  readonly reports: ProxyReports;
  /** Its working directory, below which recordings are; `/` by default. */
  readonly directory?: string | undefined;
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

/** Starts the process in this thread's network namespace. */
export function startProxy(
  command: readonly string[],
  { clock, onEnd, certificateFor, reports, directory = "/" }: ChildOptions,
): ProxyChild {
  const child = Bun.spawn([...command], { stdin: "pipe", stdout: "pipe", stderr: "inherit", env: {}, cwd: directory });
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
  const tell = (message: object) => {
    if (!isAlive) return;
    child.stdin.write(`${JSON.stringify(message)}\n`);
    child.stdin.flush();
  };
  const hear = (line: string) => {
    const message = parsed(line);
    if (message?.type === "certificate") void certify(message.host);
    else if (message && isReport(message.type)) hearReport(message, reports);
    else waiting.get(idOf(message))?.resolve();
  };
  const certify = async (name: unknown) => {
    const host = typeof name === "string" ? canonicalHost(name) : undefined;
    if (host === undefined) return;
    const identity = await certificateFor(host).catch(() => undefined);
    tell({ type: "certificate", host, ...identity });
  };
  void readLines(child.stdout, hear).catch(() => child.kill("SIGKILL"));
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
    set(address, policy) {
      const id = next++;
      const done = answer(id, ANSWER_MS);
      tell({ type: "rules", id, address, policy });
      return done;
    },
    trust: (pem) => tell({ type: "trust", pem }),
    kill: () => child.kill("SIGKILL"),
    async end() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

const ended = (what: string) => new AppError("unavailable", `The egress proxy ${what}`, { reason: "egress_proxy" });

interface Line {
  readonly [name: string]: unknown;
  readonly type?: unknown;
  readonly id?: unknown;
  readonly host?: unknown;
}

/** A line of the process. It parses what sandboxes send, so its lines are not trusted. */
function parsed(line: string): Line | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === "object" && message !== null ? (message as Line) : undefined;
  } catch {
    return undefined;
  }
}

/** The id in an answer; -1 in any other message. */
function idOf(message: Line | undefined): number {
  if (message?.type === "ready") return 0;
  return message?.type === "done" && typeof message.id === "number" ? message.id : -1;
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
