import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { canonicalHost } from "@boxyard/driver";
import { type Connection, ConnectionStream, type RequestFields, requestFields } from "@boxyard/http1";
import { formsOf } from "../masker.ts";
import { HTTPS_PORT } from "../opened-server.ts";
import { portlessHost } from "../request-host.ts";
import type { Admitted, Claim, Rules } from "../rules.ts";
import { type Edit, masksOf } from "../transform.ts";
import { editedFields } from "./fields.ts";
import { MAX_STREAMS, SETTINGS } from "./limits.ts";
import type { ServerSession, ServerSessions } from "./server-sessions.ts";
import { StreamRelay } from "./stream-relay.ts";

export interface Http2SideParts {
  readonly rules: Rules;
  readonly sessions: ServerSessions;
  readonly address: string;
  readonly host: string;
}

/** One connection of a sandbox whose TLS ends here and on which HTTP/2 is spoken: all its requests are for one host, and go to it by one connection. */
export class Http2Side implements Admitted {
  readonly claim: Claim;
  private readonly parts: Http2SideParts;
  private readonly connection: Connection;
  private readonly session: ServerHttp2Session;
  private readonly retire: () => void;
  private server: Promise<ServerSession> | undefined;
  private current: ServerSession | undefined;

  /** The connection has its socket. */
  constructor(parts: Http2SideParts, connection: Connection) {
    this.parts = parts;
    this.connection = connection;
    this.claim = { host: parts.host, isOpened: true };
    this.session = performServerHandshake(new ConnectionStream(connection), {
      settings: { ...SETTINGS, maxConcurrentStreams: MAX_STREAMS },
    });
    this.session.setLocalWindowSize(SETTINGS.initialWindowSize);
    this.session.on("stream", (stream, _fields, flags, raw: string[] = []) => this.onStream(stream, flags, raw));
    this.session.on("error", () => connection.destroy());
    this.session.on("close", () => this.finish());
    this.retire = parts.rules.admit(parts.address, this);
  }

  cut(): void {
    this.session.destroy();
    this.connection.destroy();
  }

  private onStream(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    stream.on("error", () => {});
    const request = requestFields(raw);
    const { rules, sessions, address, host } = this.parts;
    const edit = rules.editFor(address, host);
    if (!edit || !sessions.isOffered(address)) {
      this.cut();
      return;
    }
    const [status, message] = this.refusalOf(request, edit) ?? [];
    if (status !== undefined || !request) {
      refuse(stream, status ?? 400, message ?? "");
      return;
    }
    const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    this.serverSession().then(
      ({ session }) => this.relay(stream, session, { request, edit, isWhole }),
      () => refuse(stream, 502, `${host} can't be reached, or has no certificate that this machine trusts`),
    );
  }

  /** Why a request is not passed on. */
  private refusalOf(request: RequestFields | undefined, edit: Edit): [status: number, message: string] | undefined {
    const { host } = this.parts;
    if (!request) return [400, "this request is malformed, or opens a tunnel"];
    const isOwn = (name: string) => canonicalHost(portlessHost({ host: name }, HTTPS_PORT) ?? "") === host;
    if (request.hosts.length === 0 || !request.hosts.every(isOwn))
      return [421, `the Host of this request is not ${host}, for which the connection was opened`];
    if (edit.host?.refused !== undefined) return [403, edit.host.refused];
    return masksOf(edit).length > 0 && request.method === "TRACE" ? [403, "TRACE shows what a request has"] : undefined;
  }

  private relay(
    stream: ServerHttp2Stream,
    session: ServerSession["session"],
    { request, edit, isWhole }: { readonly request: RequestFields; readonly edit: Edit; readonly isWhole: boolean },
  ): void {
    if (stream.closed || stream.destroyed) return;
    try {
      const fields = editedFields(request, this.parts.host, edit);
      const server = session.request(fields, { endStream: isWhole, waitForTrailers: !isWhole });
      new StreamRelay(stream, server, formsOf(masksOf(edit)));
    } catch {
      refuse(stream, 400, "this request has fields that HTTP/2 does not allow");
    }
  }

  /** The session with the server, a new one where the last takes no more requests. */
  private serverSession(): Promise<ServerSession> {
    if (this.server && (!this.current || this.current.isUsable())) return this.server;
    const { sessions, address, host } = this.parts;
    this.leaveServer();
    const opened = sessions.open(address, host);
    this.server = opened;
    opened.then(
      (server) => {
        if (this.session.closed || this.session.destroyed) server.session.destroy();
        else this.current = server;
      },
      () => {
        if (this.server === opened) this.server = undefined;
      },
    );
    return opened;
  }

  /** The last session ends when its requests have. */
  private leaveServer(): void {
    this.current?.session.close();
    this.current = undefined;
  }

  private finish(): void {
    this.retire?.();
    this.current?.session.destroy();
    this.connection.end();
  }
}

function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.closed || stream.destroyed) return;
  stream.respond({ ":status": status, "content-type": "text/plain; charset=utf-8" });
  stream.end(`Boxyard: ${message}\n`);
}
