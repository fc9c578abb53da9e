import type { BuildLogEntry, UploadState } from "@boxyard/sdk/template";
import type { Output } from "../output/output.ts";
import { bytes } from "../output/units.ts";

const REDRAW_MS = 200;

/** A line of the build's log that begins a step: `[2/4] RUN make [hash]`, with `CACHED` before it. */
const HEADING = /^(CACHED )?\[(?:builder )?([^\]]+)\] (.*?) \[[0-9a-f]{8,}\]$/s;
/** A line that a command of a step has written. */
const PRINTED = /^\[[^\]]+\] \[(stdout|stderr)\]: (.*)$/s;

/**
 * A build as people know it from builders of images: a line for each step, what its commands print below it, and, on a terminal, a last line with
 * the step under way and its time.
 */
export class BuildView {
  private readonly output: Output;
  private readonly startedAt = performance.now();
  private stepStartedAt = performance.now();
  /** When the step under way began, by the log's clock; undefined for a step from the cache. */
  private workingSince: number | undefined;
  private current = "preparing";
  private readonly timer: ReturnType<typeof setInterval> | undefined;

  constructor(output: Output) {
    this.output = output;
    if (process.stderr.isTTY) this.timer = setInterval(() => this.draw(), REDRAW_MS);
    this.timer?.unref();
  }

  upload({ step, stage, source, state, bytes: size }: UploadState): void {
    if (state === "uploaded") this.print(this.output.dim(`uploaded ${source} (${bytes(size ?? 0)})`));
    else if (state === "cached") this.print(this.output.dim(`${source} is on the server already`));
    else
      this.begin(
        `${state} ${source} for step ${stage === undefined ? "" : `${stage} `}${step}${size === undefined ? "" : `, ${bytes(size)}`}`,
      );
  }

  log({ message, level, timestamp }: BuildLogEntry): void {
    const printed = PRINTED.exec(message);
    const heading = HEADING.exec(message);
    if (printed) this.print(this.output.dim(`  ${printed[2]}`));
    else if (heading) {
      this.done(timestamp);
      if (!heading[1]) this.workingSince = timestamp.getTime();
      const title = `[${heading[2]}] ${firstLine(heading[3] ?? "")}`;
      this.begin(title);
      this.print(`${this.output.bold(title)}${heading[1] ? this.output.dim("  CACHED") : ""}`);
    } else {
      if (/^Build (finished|failed)\b/.test(message)) this.done(timestamp);
      this.print(level === "error" ? this.output.red(message) : message);
    }
  }

  /** Prints how long the step that has ended took. */
  private done(at: Date): void {
    if (this.workingSince !== undefined) this.print(this.output.dim(`  ${((at.getTime() - this.workingSince) / 1000).toFixed(1)} s`));
    this.workingSince = undefined;
  }

  /** Leaves the terminal as it found it. */
  end(): void {
    clearInterval(this.timer);
    if (this.timer) process.stderr.write("\r\x1b[K");
  }

  get seconds(): number {
    return (performance.now() - this.startedAt) / 1000;
  }

  private begin(what: string): void {
    this.current = what;
    this.stepStartedAt = performance.now();
  }

  private print(line: string): void {
    if (this.timer) process.stderr.write("\r\x1b[K");
    this.output.note(line);
    if (this.timer) this.draw();
  }

  private draw(): void {
    const seconds = `${((performance.now() - this.stepStartedAt) / 1000).toFixed(1)} s`;
    const width = (process.stderr.columns ?? 80) - seconds.length - 6;
    process.stderr.write(`\r\x1b[K${this.output.dim(`=> ${this.current.slice(0, width)}  ${seconds}`)}`);
  }
}

function firstLine(text: string): string {
  const [line = "", ...more] = text.split("\n");
  return more.length > 0 ? `${line} …` : line;
}
