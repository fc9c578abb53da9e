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
}

/** One plain line for each stage with its time: `setup: base template (340 MB): 31.2 s`. */
export function lineReporter(options: LineOptions): Reporter {
  return new LineReporter(options);
}

class LineReporter implements Reporter {
  private readonly options: LineOptions;
  private result = "";
  private shownAt = 0;

  constructor(options: LineOptions) {
    this.options = options;
  }

  begin(stage: Stage): StageReport {
    this.result = "";
    this.shownAt = 0;
    this.show(`setup: ${stage.title} ...`);
    return {
      progress: (text) => this.show(`setup: ${stage.title}: ${text}`),
      result: (text) => {
        this.result = ` (${text})`;
      },
    };
  }

  end(stage: Stage, durationMs: number, error?: unknown): void {
    this.clear();
    const outcome = error === undefined ? "" : ": failed after";
    this.options.write(`setup: ${stage.title}${this.result}${outcome || ":"} ${(durationMs / 1000).toFixed(1)} s\n`);
  }

  say(line: string): void {
    this.clear();
    this.options.write(`${line}\n`);
  }

  private show(text: string): void {
    if (!this.options.terminal) return;
    const now = performance.now();
    if (this.shownAt > 0 && now - this.shownAt < PROGRESS_EVERY_MS) return;
    this.shownAt = now;
    // The text may be output of other programs, whose control characters would move the cursor.
    const plain = [...text].map((c) => (c < " " || c === "\x7f" ? " " : c)).join("");
    this.options.write(CLEAR_LINE + plain.slice(0, (this.options.columns ?? 80) - 1));
  }

  private clear(): void {
    if (this.options.terminal) this.options.write(CLEAR_LINE);
  }
}
