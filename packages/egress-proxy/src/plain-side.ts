import { canonicalHost } from "@boxyard/driver";
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
import { originalDestination } from "./original-destination.ts";
import { answerTo } from "./recordings/recorded-exchange.ts";
import type { Recordings } from "./recordings/recordings.ts";
import { portlessHost } from "./request-host.ts";
import type { Route } from "./route.ts";
import type { Claim, Rules } from "./rules.ts";
import type { Traffic } from "./traffic.ts";
import { reachHost } from "./upstream-way.ts";

const HTTP_PORT = 80;
const NAMES = new FieldNames();
/** An exchange after its connection was reset. */
const OVER: Exchange = { onBody() {}, onBodyEnd() {}, onClientDrain() {}, onClientClosed() {} };

export interface PlainSideParts {
  readonly rules: Rules;
  readonly ways: Ways;
  readonly recordings: Recordings;
  /** Monotonic ms. */
  readonly now: () => number;
  readonly traffic: Pick<Traffic, "allowed" | "denied">;
}

/** Answers the requests of one connection to port 80. Each has a connection of its own to the server. */
export class PlainSide implements ClientHost {
  readonly names = NAMES;
  readonly now: () => number;
  readonly rules: Rules;
  private readonly ways: Ways;
  readonly recordings: Recordings;
  private readonly traffic: PlainSideParts["traffic"];
  private readonly address: string;

  constructor({ rules, ways, now, recordings, traffic }: PlainSideParts, address: string) {
    this.traffic = traffic;
    this.rules = rules;
    this.ways = ways;
    this.now = now;
    this.recordings = recordings;
    this.address = address;
  }

  exchange(request: RequestHead, client: ClientConnection): Exchange {
    const { address } = this;
    const named = portlessHost(request, HTTP_PORT);
    const host = this.rules.allowed(address, named);
    const route = host === undefined ? this.routeByAddress(client) : this.routeTo(host, { host });
    const origin = { scheme: "http", host: host ?? named?.toLowerCase() ?? request.host } as const;
    const name = host ?? (named === undefined ? undefined : canonicalHost(named));
    // Before the exchange, which may end the connection.
    if (route) this.traffic.allowed({ name, entry: host && this.rules.entryFor(address, host) });
    const exchange = answerTo(this, { address, origin, route }, request, client);
    if (!exchange) {
      this.traffic.denied(name);
      client.abort();
    }
    return exchange ?? OVER;
  }

  malformed(_error: HeadError, client: ClientConnection): void {
    client.abort();
  }

  onClosed(): void {}

  /** The way to the address that the sandbox asked for, where that may be reached whatever its name is. */
  private routeByAddress(client: ClientConnection): Route | undefined {
    const { rules, address } = this;
    if (!rules.asksForAddress(address)) return undefined;
    const asked = originalDestination(client.connection)?.address;
    return asked !== undefined && rules.allowsAddress(address, asked) ? this.routeTo(asked, { address: asked }) : undefined;
  }

  private routeTo(host: string, claim: Claim): Route {
    return {
      claim,
      reach: (owner) => reachHost(this.ways, this.rules.proxyFor(this.address), { host, port: HTTP_PORT }, owner),
      head: (request) => forwardedRequest(request),
    };
  }
}
