import type { Source } from "./boundaries.ts";

/** Where the machine's time is taken past the injected clock. Default parameters (`clock: Clock = systemClock`) are injected. */
const TAKES =
  /\bDate\.now\(|(?<![.\w])(?:globalThis\.)?set(?:Timeout|Interval)\(|\bAbortSignal\.timeout\(|\bperformance\.now\(|set(?:Timeout|Interval)\b[^;]*"node:timers|\bsystemClock\.\w/;

const PACKAGES = /^packages\/(?:server|driver|driver-local|agent-client)\/src\//;
const TESTS = /\.test\.ts$|\.root\.test\.ts$|contract\.ts$|\/(?:testing|contract-suite|lab)\//;
/** The services and handlers of the timeout of a sandbox have the timer's name. */
const DECLARES = /^\s*setTimeout\(teamId/;

/** Why a file takes the machine's time. */
export const REASONS = {
  kernel: "it waits for the kernel or another program, which follow no clock of ours",
  command: "a command of the operator's or a step of the set-up, which measures or limits itself and ends",
  fake: "the fake driver keeps times that tests compare with those of the machine",
  file: "it compares with the times of files, or writes such times, which are the machine's",
  exit: "the last limit before the process ends, when nothing else can be trusted",
} as const;

export type Reason = keyof typeof REASONS;

/**
 * The files that take the machine's time, with the reason and the number of lines. The table may only become shorter: everything else asks the
 * injected clock, so that tests need no real seconds (`later`, `TimeLimit`, `within`, `Rounds` of core).
 */
export const TAKERS: Readonly<Record<string, readonly [Reason, number]>> = {
  "packages/driver-local/src/criu/processes.ts": ["kernel", 1],
  "packages/driver-local/src/criu/run.ts": ["kernel", 1],
  "packages/driver-local/src/criu/self-test.ts": ["command", 3],
  "packages/driver-local/src/checkpoint/set-locks.ts": ["kernel", 2],
  "packages/driver-local/src/guard/guard.ts": ["kernel", 1],
  "packages/driver-local/src/images/worker/run.ts": ["file", 1],
  "packages/driver-local/src/network/dns/exchange.ts": ["kernel", 1],
  "packages/driver-local/src/network/dns/forwarder.ts": ["kernel", 1],
  "packages/driver-local/src/network/networks.ts": ["kernel", 1],
  "packages/driver-local/src/network/unplugged.ts": ["kernel", 1],
  "packages/driver-local/src/setup/criu/fetch.ts": ["command", 1],
  "packages/driver-local/src/setup/reporter.ts": ["command", 1],
  "packages/driver-local/src/setup/stages/checkpoint.ts": ["file", 1],
  "packages/driver-local/src/snapshots/disk-use.ts": ["kernel", 1],
  "packages/driver-local/src/sys/fork-server/connection.ts": ["kernel", 1],
  "packages/driver-local/src/sys/fork-server/end-limit.ts": ["kernel", 2],
  "packages/driver-local/src/sys/fork-server/watchdog.ts": ["kernel", 1],
  "packages/driver/src/fake/images.ts": ["fake", 1],
  "packages/driver/src/fake/snapshots.ts": ["fake", 1],
  "packages/driver/src/fake/volume-files.ts": ["fake", 2],
  "packages/driver/src/fake/volumes.ts": ["fake", 1],
  "packages/driver/src/fake/world.ts": ["fake", 1],
  "packages/server/src/main.ts": ["exit", 1],
  "packages/server/src/proxy/front.ts": ["kernel", 1],
  "packages/server/src/verbs/doctor.ts": ["command", 1],
  "packages/server/src/verbs/release.ts": ["command", 1],
  "packages/server/src/verbs/setup.ts": ["command", 1],
};

export interface TimeFinding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

type Takers = Readonly<Record<string, readonly [Reason, number]>>;

/** Findings for files that take the machine's time more often than the table says, and for lines of the table that say too much. */
export function checkMachineTime(sources: readonly Source[], takers: Takers = TAKERS): TimeFinding[] {
  const found = new Map(
    sources
      .filter(({ path }) => PACKAGES.test(path) && !TESTS.test(path))
      .flatMap(({ path, text }) => {
        const lines = linesOf(text);
        return lines.length > 0 ? [[path, lines] as const] : [];
      }),
  );
  const more = [...found].flatMap(([path, lines]) => {
    const [, most] = takers[path] ?? [undefined, 0];
    const message = "takes the machine's time: ask the injected clock (`later`, `TimeLimit`, `within`, `Rounds` of core)";
    return lines.length > most ? lines.map((line) => ({ path, line, message })) : [];
  });
  const fewer = Object.entries(takers).flatMap(([path, [, most]]) => {
    const count = found.get(path)?.length ?? 0;
    const message = `takes the machine's time in ${count} lines, and not in ${most}: write that down in tools/checks/machine-time.ts`;
    return count < most ? [{ path, line: 1, message }] : [];
  });
  return [...more, ...fewer];
}

function linesOf(text: string): number[] {
  return text.split("\n").flatMap((line, index) => {
    const isComment = /^\s*(?:\*|\/\*|\/\/)/.test(line);
    return !isComment && !DECLARES.test(line) && TAKES.test(line) ? [index + 1] : [];
  });
}
