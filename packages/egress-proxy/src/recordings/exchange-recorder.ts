import { createHash, type Hash } from "node:crypto";
import { BodyWriter, type RecordedFields, type RecordingWriter } from "@boxyard/driver/recordings";
import { ChunkedDecoder, type RequestHead } from "@boxyard/http1";
import { Masker } from "../masker.ts";
import { keptFields, type Origin, urlOf, withoutSecretFields, withoutSecrets } from "./kept-request.ts";
import type { OpenRecording } from "./open-recording.ts";

const STATUS_LINE = /^HTTP\/1\.1 ([0-9]{3}) ?(.*)$/;
/** Fields that say how an answer was sent, which is decided again when it is sent again. */
const OF_TRANSFER = new Set(["connection", "keep-alive", "transfer-encoding", "trailer"]);

/** One direction of an exchange: content without its coding, and without secrets. */
class KeptBody {
  private readonly body: BodyWriter;
  private readonly masker: Masker | undefined;
  private decoder: ChunkedDecoder | undefined;

  constructor(writer: RecordingWriter, forms: readonly Buffer[]) {
    this.body = new BodyWriter(writer);
    this.masker = forms.length > 0 ? new Masker(forms) : undefined;
  }

  decode(): void {
    this.decoder = new ChunkedDecoder();
  }

  /** Returns the content in the bytes. */
  push(bytes: Buffer): Buffer {
    const content = this.decoder ? this.decoder.push(bytes) : bytes;
    this.body.push(this.masker ? this.masker.push(content) : content);
    return content;
  }

  end() {
    if (this.masker) this.body.push(this.masker.end());
    return this.body.end();
  }
}

/** Keeps one exchange in a recording, as its client sees it: what the client sends, and what it gets. It is written when it has ended. */
export class ExchangeRecorder {
  private readonly recording: OpenRecording;
  private readonly writer: RecordingWriter;
  private readonly request: RequestHead;
  private readonly forms: readonly Buffer[];
  private readonly startedAt = Date.now();
  private readonly start = performance.now();
  private readonly url: string;
  private readonly sent: KeptBody;
  private readonly got: KeptBody;
  private readonly hash: Hash | undefined;
  private head: { readonly status: number; readonly reason: string; readonly answerFields: RecordedFields } | undefined;

  constructor(recording: OpenRecording, writer: RecordingWriter, origin: Origin, request: RequestHead, forms: readonly Buffer[]) {
    this.recording = recording;
    this.writer = writer;
    this.request = request;
    this.forms = forms;
    this.url = urlOf(origin, request, forms);
    this.sent = new KeptBody(writer, forms);
    this.got = new KeptBody(writer, forms);
    this.hash = request.framing.kind === "none" ? undefined : createHash("sha256");
    if (request.framing.kind === "chunked") this.sent.decode();
  }

  /** Whether the disk is slower than the exchange, which should pause until `onDrain` calls. */
  get isBehind(): boolean {
    return this.writer.isBehind;
  }

  onDrain(call: () => void): void {
    this.writer.onDrain(call);
  }

  /** Bytes of the request's body, as they were sent. */
  onRequestBody(bytes: Buffer): void {
    this.hash?.update(this.sent.push(bytes));
  }

  /** Bytes of the answer as the client gets them: first the head, then the body. */
  onAnswer(bytes: Uint8Array): void {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.head) this.got.push(buffer);
    else this.onHead(buffer.toString("latin1"));
  }

  /** It is a WebSocket, or something else that is not kept. */
  onTunnel(): void {
    this.recording.passedUnkept();
  }

  /** The answer has ended as it should. */
  onEnd(): void {
    const body = this.sent.end();
    const answer = this.got.end();
    if (!this.head || !body || !answer) return;
    const { request, recording, url, forms, startedAt: at } = this;
    const tookMs = Math.round(performance.now() - this.start);
    const digest = this.hash && body.bytes > 0 ? this.hash.digest("hex") : "";
    const asked = { at, tookMs, method: request.method, url, fields: keptFields(request, forms), body, digest };
    const exchange = { ...asked, ...this.head, answer };
    this.writer.exchange(exchange, (place, length) => recording.added(exchange, place, length));
  }

  private onHead(text: string): void {
    const [first = "", ...lines] = text.split("\r\n");
    const [, status = "", reason = ""] = STATUS_LINE.exec(first) ?? [];
    const all = lines.filter((line) => line !== "").map(fieldOf);
    const isChunked = all.some(([name, value]) => name.toLowerCase() === "transfer-encoding" && /chunked/i.test(value));
    const hasBody = this.request.method !== "HEAD" && status !== "204" && status !== "304";
    if (isChunked && hasBody) this.got.decode();
    const isKept = (name: string) => !OF_TRANSFER.has(name) && !(hasBody && name === "content-length");
    const kept = all.filter(([name]) => isKept(name.toLowerCase()));
    this.head = { status: Number(status), reason: withoutSecrets(this.forms, reason), answerFields: withoutSecretFields(this.forms, kept) };
  }
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
