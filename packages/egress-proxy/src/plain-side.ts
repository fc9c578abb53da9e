import {
  type ClientConnection,
  type ClientHost,
  type Exchange,
  FieldNames,
  forwardedRequest,
  type HeadError,
  type RequestHead,
} from "@boxyard/http1";
import type { Ways } from "./connect.ts";
import { HttpRelay, type Route } from "./http-relay.ts";
import { portlessHost } from "./request-host.ts";
import type { Rules } from "./rules.ts";
import { reachHost } from "./upstream-way.ts";

const HTTP_PORT = 80;
const NAMES = new FieldNames();
/** An exchange after its connection was reset. */
const OVER: Exchange = { onBody() {}, onBodyEnd() {}, onClientDrain() {}, onClientClosed() {} };

/** Answers the requests of one connection to port 80. Each has a connection of its own to the server. */
export class PlainSide implements ClientHost {
  readonly names = NAMES;
  readonly now: () => number;
  private readonly rules: Rules;
  private readonly ways: Ways;
  private readonly address: string;

  constructor(rules: Rules, ways: Ways, now: () => number, address: string) {
    this.rules = rules;
    this.ways = ways;
    this.now = now;
    this.address = address;
  }

  exchange(request: RequestHead, client: ClientConnection): Exchange {
    const host = this.rules.allowed(this.address, portlessHost(request, HTTP_PORT));
    if (host === undefined) {
      client.abort();
      return OVER;
    }
    return new HttpRelay(this.rules, this.address, this.routeTo(host), request, client);
  }

  malformed(_error: HeadError, client: ClientConnection): void {
    client.abort();
  }

  onClosed(): void {}

  private routeTo(host: string): Route {
    return {
      claim: { host },
      reach: (owner) => reachHost(this.ways, this.rules.proxyFor(this.address), { host, port: HTTP_PORT }, owner),
      head: (request) => forwardedRequest(request),
    };
  }
}
