import { isAppError } from "@boxyard/core";
import { OTHER_FAILED } from "./ahead.ts";
import type { Reporter, Stage, StageReport } from "./types.ts";

/** Writes nothing. */
export const silentReporter: Reporter = { begin: () => ({ progress() {}, result() {} }), end() {}, say() {} };

/** Progress is written to a terminal at most this often. */
const PROGRESS_EVERY_MS = 100;
const CLEAR_LINE = "\r\x1b[K";

export interface LineOptions {
  readonly write: (text: string) => void;
  /** True: progress is shown in one line, which each new text replaces. */
  readonly terminal: boolean;
  /** Columns of the terminal; default 80. */
  readonly columns?: number;
  /** Milliseconds since any moment; default: since the start of the process. */
  readonly now?: () => number;
}

/** One plain line for each stage with its time: `setup: base template (340 MB): 31.2 s`. */
export function lineReporter(options: LineOptions): Reporter {
  return new LineReporter(options);
}

/** A stage in progress. */
interface Shown {
  readonly since: number;
  doing: string;
  result: string;
}

class LineReporter implements Reporter {
  private readonly options: LineOptions;
  /** The stages in progress; the one that began last comes last. */
  private readonly stages = new Map<Stage, Shown>();
  private readonly now: () => number;
  private shownAt: number | undefined;

  constructor(options: LineOptions) {
    this.options = options;
    this.now = options.now ?? (() => performance.now());
  }

  begin(stage: Stage): StageReport {
    const shown: Shown = { since: this.now(), doing: `${stage.title} ...`, result: "" };
    this.stages.set(stage, shown);
    this.shownAt = undefined;
    this.show();
    return {
      progress: (text) => {
        shown.doing = `${stage.title}: ${text}`;
        this.show();
      },
      result: (text) => {
        shown.result = ` (${text})`;
      },
    };
  }

  end(stage: Stage, error?: unknown): void {
    const shown = this.stages.get(stage);
    if (!shown) return;
    this.stages.delete(stage);
    this.clear();
    const seconds = ((this.now() - shown.since) / 1000).toFixed(1);
    this.options.write(`setup: ${stage.title}${shown.result}${outcomeOf(error)} ${seconds} s\n`);
  }

  say(line: string): void {
    this.clear();
    this.options.write(`${line}\n`);
  }

  private show(): void {
    if (!this.options.terminal) return;
    const now = this.now();
    if (this.shownAt !== undefined && now - this.shownAt < PROGRESS_EVERY_MS) return;
    this.shownAt = now;
    // The one that began last comes first: it is the shorter one.
    const text = `setup: ${[...this.stages.values()]
      .map(({ doing }) => doing)
      .reverse()
      .join("; ")}`;
    // The text may be output of other programs, whose control characters would move the cursor.
    const plain = [...text].map((c) => (c < " " || c === "\x7f" ? " " : c)).join("");
    this.options.write(CLEAR_LINE + plain.slice(0, (this.options.columns ?? 80) - 1));
  }

  private clear(): void {
    if (this.options.terminal) this.options.write(CLEAR_LINE);
  }
}

function outcomeOf(error: unknown): string {
  if (error === undefined) return ":";
  return isAppError(error, OTHER_FAILED) ? ": stopped after" : ": failed after";
}
