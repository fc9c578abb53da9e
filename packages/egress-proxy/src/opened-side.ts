import { canonicalHost } from "@boxyard/driver";
import {
  type ClientConnection,
  type ClientHost,
  type Exchange,
  FieldNames,
  type HeadError,
  ownResponse,
  type RequestHead,
} from "@boxyard/http1";
import { HTTP_1 } from "./alpn.ts";
import type { Attempt, HostOwner, Ways } from "./connect.ts";
import { MaskedAnswer } from "./masked-answer.ts";
import { formsOf, maskText } from "./masker.ts";
import { HTTPS_PORT, openedServer } from "./opened-server.ts";
import { answerTo } from "./recordings/recorded-exchange.ts";
import type { Recordings } from "./recordings/recordings.ts";
import { portlessHost } from "./request-host.ts";
import type { Route } from "./route.ts";
import type { Rules } from "./rules.ts";
import { type Edit, editedRequest, masksOf } from "./transform.ts";
import { reachHost } from "./upstream-way.ts";

/** How long a connection to a server is kept for the next request: less than servers usually keep one. */
export const KEEP_MS = 4_000;
const NAMES = new FieldNames();
const OVER: Exchange = { onBody() {}, onBodyEnd() {}, onClientDrain() {}, onClientClosed() {} };

export interface OpenedSideParts {
  readonly rules: Rules;
  readonly ways: Ways;
  readonly recordings: Recordings;
  /** Monotonic ms. */
  readonly now: () => number;
}

/** Answers the requests of one connection of a sandbox whose TLS ends here. All of them are for one host, the one that the client's first message named. */
export class OpenedSide implements ClientHost {
  readonly names = NAMES;
  readonly now: () => number;
  private readonly parts: OpenedSideParts;
  private readonly address: string;
  private readonly host: string;

  constructor(parts: OpenedSideParts, address: string, host: string) {
    this.parts = parts;
    this.now = parts.now;
    this.address = address;
    this.host = host;
  }

  exchange(request: RequestHead, client: ClientConnection): Exchange {
    client.trust();
    const name = portlessHost(request, HTTPS_PORT);
    if (name === undefined || canonicalHost(name) !== this.host) {
      refuse(client, request, 421, `the Host of this request is not ${this.host}, for which the connection was opened`);
      return OVER;
    }
    const edit = this.parts.rules.editFor(this.address, this.host);
    if (!edit) {
      client.abort();
      return OVER;
    }
    const masks = masksOf(edit);
    const refused = edit.host?.refused ?? (masks.length > 0 && request.method === "TRACE" ? "TRACE shows what a request has" : undefined);
    if (refused !== undefined) {
      refuse(client, request, 403, refused);
      return OVER;
    }
    const { address, host } = this;
    const asked = { address, origin: { scheme: "https", host }, route: this.routeOf(edit, masks) } as const;
    const exchange = answerTo(this.parts, asked, request, client);
    if (!exchange) client.abort();
    return exchange ?? OVER;
  }

  malformed({ status, message }: HeadError, client: ClientConnection): void {
    client.write(ownResponse(status, TEXT, `${message}\n`, { close: true }));
  }

  onClosed(): void {}

  private routeOf(edit: Edit, masks: readonly string[]): Route {
    const { address, host, parts } = this;
    const { rules, ways } = parts;
    const { key, target, isCurrent } = openedServer(parts, { address, host }, HTTP_1);
    return {
      claim: { host, isOpened: true },
      reach: (owner, isFresh) => kept(ways, key, isFresh, owner) ?? reachHost(ways, rules.proxyFor(address), target, owner),
      head: (request) => editedRequest(request, edit),
      ...(masks.length > 0 && maskedBy(formsOf(masks))),
      keep: (server) => {
        if (isCurrent()) ways.pool.put(key, server, KEEP_MS);
        else server.destroy();
      },
      unreachable: (request, client) =>
        refuse(client, request, 502, `${host} can't be reached, or has no certificate that this machine trusts`),
    };
  }
}

const TEXT: readonly (readonly [string, string])[] = [["Content-Type", "text/plain; charset=utf-8"]];

function refuse(client: ClientConnection, request: RequestHead, status: number, message: string): void {
  client.write(ownResponse(status, TEXT, `Boxyard: ${message}\n`, { close: true, head: request.method === "HEAD" }));
  client.endResponse(false);
}

/** Keeps secrets out of what the sandbox gets. */
const maskedBy = (forms: readonly Buffer[]): Pick<Route, "answer" | "interim"> => ({
  answer: (response, request) => new MaskedAnswer(forms, response, request),
  interim: (head) => Buffer.from(maskText(forms, Buffer.from(head).toString("latin1")), "latin1"),
});

/** A connection that an earlier request has left, if there is one. */
function kept({ pool }: Ways, key: string, isFresh: boolean, owner: HostOwner): Attempt | undefined {
  const connection = isFresh ? undefined : pool.take(key);
  if (!connection) return undefined;
  owner.onReached(connection, true);
  return { cancel: () => connection.destroy() };
}
