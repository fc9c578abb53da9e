import { type ClientHttp2Session, connect } from "node:http2";
import { type Connection, ConnectionStream } from "@boxyard/http1";
import { HTTP_2_OR_1, type Spoken } from "../alpn.ts";
import type { Ways } from "../connect.ts";
import { type OpenedServer, openedServer } from "../opened-server.ts";
import { KEEP_MS } from "../opened-side.ts";
import type { Recordings } from "../recordings/recordings.ts";
import type { Claim, Rules } from "../rules.ts";
import { reachHost } from "../upstream-way.ts";
import { SETTINGS } from "./limits.ts";

/** How long it is known what a server speaks. */
const KNOWN_MS = 600_000;
const MAX_KNOWN = 4096;
/** Sessions that wait for their clients, which may be gone already. */
const MAX_READY = 256;

export interface ServerSessionsParts {
  readonly rules: Rules;
  readonly ways: Ways;
  readonly recordings: Pick<Recordings, "find">;
  /** Monotonic ms. */
  readonly now: () => number;
}

/** A session with a server, under one policy of one sandbox. */
export interface ServerSession {
  readonly session: ClientHttp2Session;
  /** Whether it takes another request. */
  isUsable(): boolean;
}

interface Known {
  readonly spoken: Spoken;
  readonly until: number;
}

/**
 * Connections to servers for sandboxes whose clients offer HTTP/2. What a server speaks is asked of it first, and then offered to the client: so both sides speak
 * the same, and nothing is translated, which is where requests get smuggled.
 */
export class ServerSessions {
  private readonly parts: ServerSessionsParts;
  private readonly known = new Map<string, Known>();
  /** Sessions that were opened to ask, until a client takes them. */
  private readonly ready = new Map<string, ServerSession>();

  constructor(parts: ServerSessionsParts) {
    this.parts = parts;
  }

  /** Whether the clients of a sandbox are offered HTTP/2: a recording keeps exchanges of HTTP/1.1. */
  isOffered(address: string): boolean {
    return this.parts.recordings.find(address) === undefined;
  }

  /** What the server of a host speaks; HTTP/1.1 when it can't be reached, so that the request is answered with the reason. */
  async spokenBy(address: string, host: string): Promise<Spoken> {
    if (!this.isOffered(address)) return "http/1.1";
    const { ways, now } = this.parts;
    const server = openedServer(this.parts, { address, host }, HTTP_2_OR_1);
    const { key } = server;
    const known = this.known.get(key);
    if (known && known.until > now()) return known.spoken;
    const connection = await this.reach(address, server).catch(() => undefined);
    if (!connection) return "http/1.1";
    const spoken = spokenOn(connection);
    this.remember(key, spoken);
    if (spoken === "h2") this.keepReady(key, this.begin(address, host, server, connection));
    else if (server.isCurrent()) ways.pool.put(key, connection, KEEP_MS);
    else connection.destroy();
    return spoken;
  }

  /** A session with the server of a host. Rejects when it can't be reached, or no longer speaks HTTP/2. */
  async open(address: string, host: string): Promise<ServerSession> {
    const server = openedServer(this.parts, { address, host }, HTTP_2_OR_1);
    const ready = this.ready.get(server.key);
    this.ready.delete(server.key);
    if (ready?.isUsable()) return ready;
    const connection = await this.reach(address, server);
    if (spokenOn(connection) === "h2") return this.begin(address, host, server, connection);
    this.known.delete(server.key);
    connection.destroy();
    throw new Error(`${host} no longer speaks HTTP/2`);
  }

  private reach(address: string, { target }: OpenedServer): Promise<Connection> {
    const { rules, ways } = this.parts;
    return new Promise((resolve, reject) => {
      reachHost(ways, rules.proxyFor(address), target, {
        onReached(connection) {
          // Nothing is read before the session or the pool has the connection.
          connection.pause();
          resolve(connection);
        },
        onUnreachable: () => reject(new Error(`${target.host} can't be reached`)),
      });
    });
  }

  private begin(address: string, host: string, { isCurrent }: OpenedServer, connection: Connection): ServerSession {
    const stream = new ConnectionStream(connection);
    const session = connect(`https://${host}`, { createConnection: () => stream, settings: SETTINGS });
    session.setLocalWindowSize(SETTINGS.initialWindowSize);
    let isGoing = false;
    session.on("goaway", () => {
      isGoing = true;
    });
    // Its streams say what became of them.
    session.on("error", () => {});
    const claim: Claim = { host, isOpened: true, address: connection.peer };
    const retire = this.parts.rules.admit(address, { claim, cut: () => void session.destroy() });
    session.on("close", retire);
    return { session, isUsable: () => !isGoing && !session.closed && !session.destroyed && isCurrent() };
  }

  private keepReady(key: string, session: ServerSession): void {
    this.ready.get(key)?.session.close();
    this.ready.delete(key);
    this.ready.set(key, session);
    // A map keeps the order of insertion: the oldest goes first.
    for (const [oldest, { session: unused }] of this.ready) {
      if (this.ready.size <= MAX_READY) break;
      this.ready.delete(oldest);
      unused.close();
    }
    setTimeout(() => {
      if (this.ready.get(key) !== session) return;
      this.ready.delete(key);
      session.session.close();
    }, KEEP_MS);
  }

  private remember(key: string, spoken: Spoken): void {
    this.known.delete(key);
    this.known.set(key, { spoken, until: this.parts.now() + KNOWN_MS });
    // A map keeps the order of insertion: the oldest goes first.
    for (const oldest of this.known.keys()) {
      if (this.known.size <= MAX_KNOWN) return;
      this.known.delete(oldest);
    }
  }
}

const spokenOn = ({ protocol }: Connection): Spoken => (protocol === "h2" ? "h2" : "http/1.1");
