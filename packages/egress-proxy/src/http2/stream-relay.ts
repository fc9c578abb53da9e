import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from "node:http2";
import { type Duplex, Transform, type TransformCallback } from "node:stream";
import { answerFields, type FieldList } from "@boxyard/http1";
import { OF_BODY } from "../masked-answer.ts";
import { Masker, maskText } from "../masker.ts";
import { GrpcMasker, isGrpc } from "./grpc-masker.ts";

const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM, NGHTTP2_NO_ERROR } = constants;
const MAX_INTERIM = 32;
/** Codings in which nothing can be found, of whole answers and of messages of gRPC. */
const CODINGS = ["content-encoding", "grpc-encoding"];

/**
 * One request of a sandbox by HTTP/2 and its answer: fields, bytes, fields behind them, and a reset of either side pass. `forms`: the secrets that the answer must
 * not bring inside, none if there is nothing to mask.
 */
export class StreamRelay {
  private readonly client: ServerHttp2Stream;
  private readonly server: ClientHttp2Stream;
  private readonly forms: readonly Buffer[];
  private interim = 0;
  private behind: FieldList = {};
  private hasEnded = false;

  constructor(client: ServerHttp2Stream, server: ClientHttp2Stream, forms: readonly Buffer[]) {
    this.client = client;
    this.server = server;
    this.forms = forms;
    this.passRequest();
    this.passAnswer();
    server.on("error", () => {});
    client.on("close", () => {
      if (!server.closed) server.close(client.rstCode || NGHTTP2_CANCEL);
    });
    server.on("close", () => this.onServerClosed());
  }

  private passRequest(): void {
    const { client, server } = this;
    let behind: FieldList = {};
    client.on("trailers", (_fields, _flags, raw: string[] = []) => {
      behind = answerFields(raw, isField, (text) => text);
    });
    server.on("wantTrailers", () => server.sendTrailers(behind));
    if (!server.writableEnded) client.pipe(server);
  }

  private passAnswer(): void {
    const { server } = this;
    server.on("continue", () => this.attempt(() => this.passInterim([":status", "100"])));
    server.on("headers", (_fields, _flags, raw: string[] = []) => this.attempt(() => this.passInterim(raw)));
    server.on("response", (_fields, flags, raw: string[] = []) => this.attempt(() => this.begin(flags, raw)));
    server.on("trailers", (_fields, _flags, raw: string[] = []) => {
      this.behind = answerFields(raw, isField, this.masked);
    });
  }

  private passInterim(raw: readonly string[]): void {
    this.interim += 1;
    if (this.interim > MAX_INTERIM) throw new Error("too many interim answers");
    this.client.additionalHeaders(answerFields(raw, () => true, this.masked));
  }

  private begin(flags: number, raw: readonly string[]): void {
    const { client, server, forms } = this;
    const isEmpty = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    const isMasked = forms.length > 0 && !isEmpty;
    if (isMasked && isCoded(raw)) throw new Error("a coding that was not asked for");
    const fields = answerFields(raw, (name) => !isMasked || !OF_BODY.has(name), this.masked);
    client.on("wantTrailers", () => client.sendTrailers(this.behind));
    client.respond(fields, { endStream: isEmpty, waitForTrailers: !isEmpty, ...{ sendDate: false } });
    this.hasEnded = isEmpty;
    if (isEmpty) return;
    const body: Duplex = isMasked ? server.pipe(masking(forms, raw), { end: false }) : server;
    body.pipe(client, { end: false });
    // Also of an answer that was cut off, of which the client must learn that.
    server.on("end", () => {
      if (server.rstCode) {
        this.fail();
        return;
      }
      this.hasEnded = true;
      if (body === server) client.end();
      else body.end();
    });
    if (body === server) return;
    body.on("end", () => client.end());
    body.on("error", () => this.fail());
  }

  private onServerClosed(): void {
    const { client } = this;
    if (!this.hasEnded) this.fail();
    else if (!client.readableEnded) {
      // The server has answered before it had the whole request, and takes no more of it.
      const close = () => client.close(NGHTTP2_NO_ERROR);
      if (client.writableFinished) close();
      else client.once("finish", close);
    }
  }

  /** Resets the request. `close` would end the answer before that, as if it were whole. */
  private fail(): void {
    if (!this.client.destroyed) this.client.destroy(new Error("the answer was cut off"));
  }

  /** What a server sends and the library does not take ends the request. */
  private attempt(step: () => void): void {
    try {
      step();
    } catch {
      this.fail();
      this.server.close(NGHTTP2_CANCEL);
    }
  }

  private readonly masked = (text: string): string => (this.forms.length > 0 ? maskText(this.forms, text) : text);
}

const isField = (name: string) => !name.startsWith(":");

const isCoded = (raw: readonly string[]) => raw.some((text, i) => i % 2 === 0 && CODINGS.includes(text) && raw[i + 1] !== "identity");

/** The body of an answer without secrets. */
function masking(forms: readonly Buffer[], raw: readonly string[]): Transform {
  const type = raw[raw.findIndex((text, i) => i % 2 === 0 && text === "content-type") + 1] ?? "";
  const masker = isGrpc(type) ? new GrpcMasker(forms) : new Masker(forms);
  const attempt = (done: TransformCallback, step: () => Buffer) => {
    try {
      done(null, step());
    } catch (error) {
      done(error as Error);
    }
  };
  return new Transform({
    transform: (bytes: Buffer, _encoding, done) => attempt(done, () => masker.push(bytes)),
    flush: (done) => attempt(done, () => masker.end()),
  });
}
