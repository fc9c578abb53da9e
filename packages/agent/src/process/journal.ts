import type { Clock } from "@boxyard/core";
import type { ProcessConfig } from "@boxyard/spec/agent";
import { LIMITS } from "../limits.ts";
import type { EndStatus } from "./end-status.ts";

/** One thing that happened, for the sandbox's log. */
export interface JournalEntry {
  /** From 1 on, without gaps, for one process of the agent. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: "started" | "ended" | "agent";
  /** The command line, how it ended, or what the agent says of itself; cut off where it is long. */
  readonly text: string;
  readonly pid?: number;
  readonly exitCode?: number;
  /** How long the command ran. */
  readonly ms?: number;
}

type Noted = Omit<JournalEntry, "seq" | "at">;

/** A command as the journal knows it. */
interface Subject {
  readonly pid: number;
  readonly config: ProcessConfig;
  readonly finished: Promise<EndStatus>;
}

/** Starts and ends of commands, and lines of the agent: the newest, in memory. The server reads them; the agent has no way to the platform. */
export class Journal {
  private readonly entries: JournalEntry[] = [];
  private readonly clock: Clock;
  private last = 0;
  private running = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Notes a command that has started, and its end when that comes. */
  follow({ pid, config, finished }: Subject): void {
    const startedAt = this.clock.monotonic();
    this.running++;
    this.note({ kind: "started", text: lineOf(config), pid });
    void finished.then(({ exitCode, status, error }) => {
      this.running--;
      const ms = Math.round(this.clock.monotonic() - startedAt);
      this.note({ kind: "ended", text: `${error ?? status}: ${lineOf(config)}`, pid, exitCode, ms });
    });
  }

  /** Notes a line of the agent's own log. */
  tell(text: string): void {
    this.note({ kind: "agent", text });
  }

  /** The oldest entries after `seq` that are still there, and how many followed commands run. */
  after(seq: number): { readonly entries: readonly JournalEntry[]; readonly last: number; readonly running: number } {
    const found = this.entries.filter((entry) => entry.seq > seq).slice(0, LIMITS.journalAnswer);
    return { entries: found, last: this.last, running: this.running };
  }

  private note(noted: Noted): void {
    this.entries.push({ seq: ++this.last, at: Math.round(this.clock.now()), ...noted, text: noted.text.slice(0, LIMITS.journalTextChars) });
    if (this.entries.length > LIMITS.journalEntries) this.entries.shift();
  }
}

/** The command line as a client gave it: clients wrap a line in a login shell. */
function lineOf({ cmd, args }: ProcessConfig): string {
  const [flag, dashC, line] = args;
  const isWrapped = cmd === "/bin/bash" && flag === "-l" && dashC === "-c" && args.length === 3;
  return (isWrapped && line !== undefined ? line : [cmd, ...args].join(" ")).slice(0, LIMITS.journalTextChars);
}
