import type { Clock } from "@boxyard/core";
import { later, withoutTrailing } from "@boxyard/core";
import type { BuildLogLevel, BuildLogLine, TemplateStore } from "../../../store/index.ts";

const FLUSH_MS = 100;
const MAX_LINES = 100_000;
const MAX_LINE_LENGTH = 8192;
/** Most characters of a log, without warnings and errors. */
const MAX_CHARS = 32 << 20;
/** Lines that are written at once. */
const BATCH = 500;
/** Most lines that wait to be written. With more, `room` waits for the store. */
const MAX_PENDING_LINES = 2000;
const MAX_PENDING_CHARS = 2 << 20;

/** Writes the log of one build, in order and in batches. */
export class BuildLog {
  private readonly buildId: string;
  private readonly store: TemplateStore;
  private readonly clock: Clock;
  private pending: BuildLogLine[] = [];
  private pendingChars = 0;
  private place = 0;
  private count = 0;
  private chars = 0;
  /** True when the log has its limit: only warnings and errors are kept. */
  private isFull = false;
  private cancelFlush: (() => void) | undefined;
  private writing: Promise<void> = Promise.resolve();
  private failure: unknown;

  constructor(buildId: string, store: TemplateStore, clock: Clock) {
    this.buildId = buildId;
    this.store = store;
    this.clock = clock;
  }

  /** Adds a line. After 100,000 lines, or 32 MiB, one line says so, and only warnings and errors are kept. */
  add(message: string, step?: string, level: BuildLogLevel = "info"): void {
    // A failed write fails the build, so further lines are not needed.
    if (this.failure !== undefined) return;
    this.count += 1;
    this.chars += Math.min(message.length, MAX_LINE_LENGTH);
    const isCut = (this.count > MAX_LINES || this.chars > MAX_CHARS) && (level === "info" || level === "debug");
    if (isCut && this.isFull) return;
    this.isFull ||= isCut;
    const cut = `The log is longer than ${MAX_LINES} lines or ${MAX_CHARS >> 20} MiB; what follows is not kept`;
    const text = (isCut ? cut : message).slice(0, MAX_LINE_LENGTH);
    this.pending.push({ at: this.clock.now(), level, message: text, ...(step === undefined ? {} : { step }) });
    this.pendingChars += text.length;
    this.cancelFlush ??= later(FLUSH_MS, () => void this.flush().catch(() => {}), this.clock);
  }

  /** To be awaited before more output is read: a command can print quicker than the store writes. Never throws. */
  async room(): Promise<void> {
    if (this.pending.length >= MAX_PENDING_LINES || this.pendingChars >= MAX_PENDING_CHARS) await this.flush().catch(() => {});
  }

  /** Writes the pending lines. Throws when the store fails. */
  async flush(): Promise<void> {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
    this.writing = this.writing.then(() => this.write());
    await this.writing;
    if (this.failure !== undefined) throw this.failure;
  }

  private async write(): Promise<void> {
    while (this.pending.length > 0 && this.failure === undefined) {
      const lines = this.pending.splice(0, BATCH);
      this.pendingChars -= lines.reduce((sum, { message }) => sum + message.length, 0);
      const at = this.place;
      this.place += lines.length;
      await this.store.addLogs(this.buildId, at, lines).catch((error: unknown) => {
        this.failure = error;
        this.pending = [];
      });
    }
  }
}

/** Cuts a stream of bytes into lines. Of a line with carriage returns, it keeps the text after the last one. */
export class LineCutter {
  private readonly decoder = new TextDecoder();
  private readonly onLine: (line: string) => void;
  private rest = "";

  constructor(onLine: (line: string) => void) {
    this.onLine = onLine;
  }

  push(bytes: Uint8Array): void {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split("\n");
    this.rest = lines.pop() ?? "";
    if (this.rest.length > MAX_LINE_LENGTH) lines.push(this.rest.slice(0, MAX_LINE_LENGTH));
    if (this.rest.length > MAX_LINE_LENGTH) this.rest = "";
    for (const line of lines) this.tell(line);
  }

  end(): void {
    if (this.rest !== "") this.tell(this.rest);
    this.rest = "";
  }

  private tell(line: string): void {
    const trimmed = withoutTrailing(line, "\r");
    this.onLine(trimmed.slice(trimmed.lastIndexOf("\r") + 1));
  }
}
