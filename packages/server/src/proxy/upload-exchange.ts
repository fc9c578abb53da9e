import { type AppError, isAppError } from "@boxyard/core";
import { type ClientConnection, type Exchange, type RequestHead, wantsContinue } from "@boxyard/http1";
import { limitFields } from "../limit-met.ts";
import { jsonResponse } from "./answers.ts";

/** Where an upload goes, chunk by chunk. */
export interface UploadSink {
  write(bytes: Uint8Array): Promise<void>;
  /** The file is complete. */
  finish(): Promise<void>;
  /** Removes what came of a file that is not complete. Repeatable; does nothing after `finish`. */
  discard(): Promise<void>;
}

/** Takes uploads on the one port. */
export interface UploadTarget {
  /** Requests whose target begins so are uploads. */
  readonly prefix: string;
  readonly maxBytes: number;
  /** Opens the sink for a request's target; `length`: bytes of the upload. Throws `unauthenticated`, `resource_exhausted`. */
  open(target: string, length: number): Promise<UploadSink>;
}

/** At most so much is held in memory while the disk is slow: then the client has to wait. */
const MAX_PENDING_BYTES = 1 << 20;

/** A client that sends nothing for longer is cut off. The time that the disk takes counts too. */
const BODY_IDLE_MS = 640_000;

/** `PUT` of a file with a Content-Length, written to disk as it comes. */
export class UploadExchange implements Exchange {
  readonly bodyIdleMs = BODY_IDLE_MS;
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private readonly target: UploadTarget;
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  private complete = false;
  private stopped = false;
  private wake: (() => void) | undefined;

  constructor(request: RequestHead, client: ClientConnection, target: UploadTarget) {
    this.request = request;
    this.client = client;
    this.target = target;
  }

  start(): void {
    const { framing } = this.request;
    const length = framing.kind === "length" ? framing.length : framing.kind === "none" ? 0 : undefined;
    if (length === undefined || length > this.target.maxBytes) {
      if (length === undefined) this.answer(411, "An upload needs a Content-Length");
      else this.answer(413, `The upload is larger than ${this.target.maxBytes} bytes`);
      return;
    }
    void this.receive(length);
  }

  onBody(bytes: Buffer): void {
    if (this.stopped) return;
    this.pending.push(bytes);
    this.pendingBytes += bytes.byteLength;
    if (this.pendingBytes > MAX_PENDING_BYTES) this.client.pauseBody();
    this.wake?.();
  }

  onBodyEnd(): void {
    this.complete = true;
    this.wake?.();
  }

  onClientDrain(): void {}

  onClientClosed(): void {
    this.stopped = true;
    this.wake?.();
  }

  private async receive(length: number): Promise<void> {
    let sink: UploadSink | undefined;
    try {
      sink = await this.target.open(this.request.target, length);
      this.client.trust();
      // Only after the signature is checked, so that a client does not send a body that is refused.
      if (wantsContinue(this.request) && !this.stopped) this.client.write(Buffer.from("HTTP/1.1 100 Continue\r\n\r\n"));
      for (let bytes = await this.next(); bytes; bytes = await this.next()) await sink.write(bytes);
      if (this.stopped) return;
      await sink.finish();
      this.answer(200);
    } catch (error) {
      const [status, message, met] = problemOf(error);
      this.answer(status, message, met);
    } finally {
      await sink?.discard().catch(() => {});
    }
  }

  /** The bytes that came since the last call; waits for some. Undefined at the end of the body or of the connection. */
  private async next(): Promise<Uint8Array | undefined> {
    while (this.pending.length === 0) {
      if (this.complete || this.stopped) return undefined;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = undefined;
    }
    const bytes = this.pending.length === 1 ? this.pending[0] : Buffer.concat(this.pending);
    this.pending = [];
    this.pendingBytes = 0;
    this.client.resumeBody();
    return bytes;
  }

  private answer(status: number, message?: string, met?: AppError): void {
    if (this.stopped) return;
    this.stopped = true;
    this.pending = [];
    const keep = status === 200 && this.request.keepAlive;
    const body = message === undefined ? {} : { code: status, message, ...(met && limitFields(met)) };
    this.client.write(jsonResponse(status, body, !keep, false, met && Number(met.details.retryAfter)));
    this.client.endResponse(keep);
  }
}

/** Status, message and, for a limit that was met, the error. */
function problemOf(error: unknown): [number, string, AppError?] {
  if (isAppError(error, "unauthenticated")) return [403, error.message];
  if (isAppError(error, "build_files_full")) return [507, error.message];
  if (isAppError(error, "resource_exhausted")) return [429, error.message, error];
  if ((error as { code?: unknown }).code === "ENOSPC") return [507, "The server's disk is full"];
  return [500, "The upload could not be kept"];
}
