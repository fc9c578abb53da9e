import type { Output } from "./output.ts";
import { bytes, duration } from "./units.ts";

const REDRAW_MS = 150;

/** A transfer as a person sees it: one line that is drawn again on a terminal, and a summary at the end. */
export class Progress {
  private done = 0;
  private total: number | undefined;
  private readonly output: Output;
  private readonly label: string;
  private readonly startedAt = performance.now();
  private drawnAt = 0;

  constructor(output: Output, label: string, total?: number) {
    this.output = output;
    this.label = label;
    this.total = total;
    // A person sees at once that it has begun, however long the first bytes take.
    this.draw(this.startedAt);
  }

  add(count: number): void {
    this.done += count;
    const now = performance.now();
    if (now - this.drawnAt >= REDRAW_MS) this.draw(now);
  }

  /** How much there is, told once it is known. */
  expect(total: number): void {
    this.total = total;
  }

  /** The last line: what was copied, how fast. */
  finish(what: string): void {
    const ms = performance.now() - this.startedAt;
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
    this.output.note(
      this.output.dim(`${what}: ${bytes(this.done)} in ${(ms / 1000).toFixed(1)} s (${bytes((this.done / Math.max(ms, 1)) * 1000)}/s)`),
    );
  }

  /** Leaves the line to what comes next. */
  clear(): void {
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  }

  private draw(now: number): void {
    if (!process.stderr.isTTY) return;
    this.drawnAt = now;
    process.stderr.write(`\r\x1b[K${this.label}  ${this.state(now - this.startedAt)}`);
  }

  private state(ms: number): string {
    const rate = (this.done / Math.max(ms, 1)) * 1000;
    if (this.total === undefined) return `${bytes(this.done)}  ${bytes(rate)}/s`;
    const left = rate > 0 ? `${duration(((this.total - this.done) / rate) * 1000)} left` : "";
    return `${bytes(this.done)} of ${bytes(this.total)}  ${bytes(rate)}/s  ${left}`;
  }
}

const TICK_MS = 1000;

/** Says on a terminal what is going on, and for how long already, while `work` goes on; the line goes with its end. */
export async function whileShown<T>(what: string, work: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work;
  const startedAt = performance.now();
  const draw = () => process.stderr.write(`\r\x1b[K${what}: ${duration(performance.now() - startedAt)}`);
  draw();
  const timer = setInterval(draw, TICK_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    process.stderr.write("\r\x1b[K");
  }
}
