import { canonicalHost } from "@boxyard/driver";
import type { Connection, ConnectionOwner } from "@boxyard/http1";
import { bridge } from "./bridge.ts";
import { type Hello, parseClientHello } from "./client-hello.ts";
import type { Attempt, HostOwner, Ways } from "./connect.ts";
import type { OpenedHosts } from "./opened-hosts.ts";
import { originalDestination } from "./original-destination.ts";
import type { Recordings } from "./recordings/recordings.ts";
import type { Admitted, Claim, Rules } from "./rules.ts";
import type { Traffic } from "./traffic.ts";
import { reachHost } from "./upstream-way.ts";

const HTTPS_PORT = 443;
/** Longest time until the client has sent its first message. */
const HELLO_MS = 15_000;
/** Of what speaks no TLS. */
const NO_HELLO = { serverName: undefined, offersHttp2: false, offersHttp1: true };
/** In place of an address: nothing permits it. */
const UNKNOWN = "";

export interface TlsRelayParts {
  readonly rules: Rules;
  readonly ways: Ways;
  readonly opened: OpenedHosts;
  readonly recordings: Recordings;
  /** Monotonic ms. */
  readonly now: () => number;
  readonly traffic: Pick<Traffic, "allowed" | "denied">;
}

/**
 * One connection of a sandbox to port 443. It reads the first message for the name of the server, connects to that server, and passes the bytes of both
 * sides on unchanged: TLS stays between sandbox and server. Only for a host with rules the bytes go to where this process opens TLS. A connection that is
 * not allowed is reset.
 */
export class TlsRelay implements ConnectionOwner, Admitted, HostOwner {
  claim: Claim = {};
  private readonly parts: TlsRelayParts;
  private readonly address: string;
  private readonly client: Connection;
  private received: Buffer = Buffer.alloc(0);
  private attempt: Attempt | undefined;
  private server: Connection | undefined;
  private offersHttp2 = false;
  private retire = () => {};
  private readonly leave: () => void;

  /** `leave` is called once, when the connection has ended. */
  constructor(parts: TlsRelayParts, address: string, client: Connection, leave: () => void) {
    this.parts = parts;
    this.address = address;
    this.client = client;
    this.leave = leave;
    client.owner = this;
    client.deadline = parts.now() + HELLO_MS;
  }

  // The sandbox's side.

  onData(bytes: Buffer): void {
    this.received = Buffer.concat([this.received, bytes]);
    if (this.attempt) this.client.pause();
    else this.readHello();
  }

  onEnd(): void {
    this.cut();
  }

  onDrain(): void {}

  onClose(): void {
    this.finish();
  }

  cut(): void {
    this.client.destroy();
    this.server?.destroy();
    this.finish();
  }

  private readHello(): void {
    const hello = parseClientHello(this.received);
    if (hello.kind === "more") return;
    this.claim = this.claimOf(hello);
    const { rules, traffic } = this.parts;
    const { host } = this.claim;
    const isPermitted = rules.permits(this.address, this.claim);
    if (this.claim.isUnkept) this.tellUnkept(isPermitted);
    if (!isPermitted) {
      traffic.denied(host);
      this.cut();
      return;
    }
    traffic.allowed({ name: host, entry: host === undefined ? undefined : rules.entryFor(this.address, host) });
    this.client.deadline = Number.POSITIVE_INFINITY;
    this.client.pause();
    this.attempt = this.reach(this.claim);
    this.retire = rules.admit(this.address, this);
  }

  /** What speaks no TLS, or names no server, has no host: it may be permitted by its address alone. */
  private claimOf(hello: Hello): Claim {
    const { rules, recordings } = this.parts;
    const { serverName: name, offersHttp2, offersHttp1 } = hello.kind === "hello" ? hello : NO_HELLO;
    this.offersHttp2 = offersHttp2;
    const host = name === undefined ? undefined : canonicalHost(name);
    const address = rules.asksForAddress(this.address) ? (originalDestination(this.client)?.address ?? UNKNOWN) : UNKNOWN;
    // Where TLS is opened for a recording alone, a client that does not speak HTTP/1.1 could only fail.
    const isUnkept =
      host !== undefined && !offersHttp1 && recordings.find(this.address) !== undefined && !rules.isAtEdge(this.address, host);
    const isOpened = host !== undefined && !isUnkept && rules.editFor(this.address, host) !== undefined;
    return { host, address, isOpened, endsHere: isOpened, ...(isUnkept && { isUnkept }) };
  }

  /** Says in the recording that something of this sandbox is not in it, or that it has no answer. */
  private tellUnkept(isPermitted: boolean): void {
    const { recordings } = this.parts;
    const user = recordings.find(this.address);
    if (user?.use.mode === "replay")
      recordings.reportMiss(this.address, user, { method: "CONNECT", url: `https://${this.claim.host}/`, isPassed: isPermitted });
    else if (isPermitted) user?.recording.passedUnkept();
  }

  private reach({ host, address, isOpened }: Claim): Attempt {
    const { rules, ways, opened } = this.parts;
    if (isOpened && host !== undefined) return opened.reach({ address: this.address, host, offersHttp2: this.offersHttp2 }, this);
    // A name that is allowed leads to what the name server says. Else the address is what is permitted.
    const target = rules.allowed(this.address, host) ?? address ?? UNKNOWN;
    return reachHost(ways, rules.proxyFor(this.address), { host: target, port: HTTPS_PORT }, this);
  }

  // The server's side.

  onReached(server: Connection): void {
    this.server = server;
    bridge(this.client, server, () => this.finish());
    const first = this.received;
    this.received = Buffer.alloc(0);
    if (server.write(first)) this.client.resume();
  }

  onUnreachable(): void {
    this.cut();
  }

  private finish(): void {
    // A connection that is there is not given up: it may have bytes that are still to be written.
    if (!this.server) this.attempt?.cancel();
    this.retire();
    this.leave();
  }
}
