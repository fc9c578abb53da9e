import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { type Clock, EXIT_SETUP_NEEDED, systemClock } from "@boxyard/core";
import { type GaveUp, readServerFile, removeSupervisorFile, writeSupervisorFile } from "../server-file.ts";
import { SERVER_LOG } from "./server-logger.ts";

/** A server that ends within this time after its start has failed at once. */
const AT_ONCE_MS = 10_000;
/** Failures at once, in a row, after which the server is not started again. */
const MAX_AT_ONCE = 3;
/** Waits before the tries after 0, 1, 2 … failures at once. */
const BACK_OFF_MS = [0, 1000, 5000, 15_000, 30_000] as const;
/** Bytes at the log's end in which the reason is looked for. */
const TAIL_BYTES = 64 << 10;
const OWN_WORDS = "boxyard serve: ";

/** A server that was started. */
export interface Started {
  readonly pid: number;
  /** Its exit code; 128 and more when a signal ended it. */
  readonly exited: Promise<number>;
  end(): void;
}

export interface SuperviseOptions {
  readonly dataDir: string;
  /** Starts the server; `isFirst`: this is the start that the user asked for. */
  readonly start: (isFirst: boolean) => Started;
  /** Aborts when the server, and this process, must end. */
  readonly stop: AbortSignal;
  /** Is called with a function that ends a wait between two tries. */
  readonly hurry?: (onHurry: () => void) => void;
  readonly clock?: Clock;
  readonly say?: (text: string) => void;
}

/**
 * Keeps a server in the background running: starts it again when it crashes, at once and then with growing pauses. Does not start it again when it ends
 * as asked, when it fails before it has ever answered, or when it fails at once three times; `boxyard doctor` gives the reason then. Returns the
 * exit code.
 */
export async function supervise(options: SuperviseOptions): Promise<number> {
  const { dataDir, start, stop, clock = systemClock, say = console.error } = options;
  let hasAnswered = false;
  let atOnce = 0;
  for (let tries = 0; ; tries++) {
    const startedAt = clock.monotonic();
    const server = start(tries === 0);
    const end = () => server.end();
    stop.addEventListener("abort", end);
    writeSupervisorFile(dataDir, { server: server.pid });
    const exitCode = await server.exited;
    stop.removeEventListener("abort", end);
    hasAnswered ||= readServerFile(dataDir, { evenIfDead: true })?.pid === server.pid;
    if (stop.aborted || exitCode === 0 || exitCode === EXIT_SETUP_NEEDED || !hasAnswered) {
      removeSupervisorFile(dataDir);
      return exitCode;
    }
    atOnce = clock.monotonic() - startedAt < AT_ONCE_MS ? atOnce + 1 : 0;
    if (atOnce >= MAX_AT_ONCE) return giveUp(dataDir, exitCode, clock, say);
    const waitMs = BACK_OFF_MS[Math.min(atOnce, BACK_OFF_MS.length - 1)] ?? 0;
    say(`boxyard supervise: the server (pid ${server.pid}) ended with exit code ${exitCode}; it is started again in ${waitMs / 1000} s`);
    await pause(waitMs, options, clock);
    if (stop.aborted) {
      removeSupervisorFile(dataDir);
      return 0;
    }
  }
}

async function pause(ms: number, { stop, hurry }: SuperviseOptions, clock: Clock): Promise<void> {
  const enough = new AbortController();
  hurry?.(() => enough.abort());
  await clock.sleep(ms, AbortSignal.any([stop, enough.signal])).catch(() => {});
}

function giveUp(dataDir: string, exitCode: number, clock: Clock, say: (text: string) => void): number {
  const reason = lastWords(dataDir) ?? `it ended with exit code ${exitCode}; ${join(dataDir, SERVER_LOG)} has more`;
  const gaveUp: GaveUp = { at: clock.now(), exitCode, reason };
  writeSupervisorFile(dataDir, { gaveUp });
  say(`boxyard supervise: the server failed at once ${MAX_AT_ONCE} times; it is not started again: ${reason}`);
  return exitCode;
}

/** The last line of the log with the reason of the server's end. */
function lastWords(dataDir: string): string | undefined {
  try {
    const fd = openSync(join(dataDir, SERVER_LOG), "r");
    try {
      const { size } = fstatSync(fd);
      const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
      readSync(fd, bytes, 0, bytes.length, size - bytes.length);
      const line = bytes
        .toString()
        .split("\n")
        .findLast((text) => text.startsWith(OWN_WORDS));
      return line?.slice(OWN_WORDS.length);
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
