import type { ClientConnection } from "./client-connection.ts";

/** Part of all connections that one address may have. */
const SHARE = 3 / 4;
/** Part of all connections that is closed at a time, because the search walks over all connections of an address. */
const CLOSED_AT_A_TIME = 1 / 256;

/**
 * The connections of clients, with an upper bound. At the bound, or at the share of one address, the connections that have been idle for longest are
 * closed: those of the address with the most, and untrusted ones first. A connection with an answer under way is never closed for another.
 */
export class ClientTable {
  private readonly max: number;
  private readonly byAddress = new Map<string, Set<ClientConnection>>();
  private readonly addresses = new Map<ClientConnection, string>();

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.addresses.size;
  }

  [Symbol.iterator](): IterableIterator<ClientConnection> {
    return this.addresses.keys();
  }

  /** Adds a connection, after closing idle ones if needed. False when there is no room. */
  add(client: ClientConnection, remoteAddress: string): boolean {
    const address = accountOf(remoteAddress);
    const own = this.byAddress.get(address);
    if (own && own.size >= Math.ceil(this.max * SHARE)) {
      if (!this.makeRoom(own)) return false;
    } else if (this.size >= this.max && !this.heaviestFirst().some((clients) => this.makeRoom(clients))) return false;
    const clients = this.byAddress.get(address) ?? new Set();
    this.byAddress.set(address, clients.add(client));
    this.addresses.set(client, address);
    return true;
  }

  /** Repeatable. */
  remove(client: ClientConnection): void {
    const address = this.addresses.get(client);
    if (address === undefined) return;
    this.addresses.delete(client);
    const clients = this.byAddress.get(address);
    clients?.delete(client);
    if (clients?.size === 0) this.byAddress.delete(address);
  }

  private heaviestFirst(): Set<ClientConnection>[] {
    return [...this.byAddress.values()].sort((a, b) => b.size - a.size);
  }

  /** Closes the connections that have been idle for longest. False when none is idle. */
  private makeRoom(clients: ReadonlySet<ClientConnection>): boolean {
    const idle = [...clients].filter((client) => client.isIdle);
    const untrusted = idle.filter((client) => !client.isTrusted);
    const found = (untrusted.length > 0 ? untrusted : idle).sort((a, b) => a.idleSince - b.idleSince);
    for (const client of found.slice(0, Math.max(1, Math.floor(this.max * CLOSED_AT_A_TIME)))) {
      this.remove(client);
      client.abort();
    }
    return found.length > 0;
  }
}

/** Key under which an address is counted: for IPv6 its network of 64 bits, because one client may use all addresses of that. */
function accountOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [left = "", right] = address.split("::");
  const front = left === "" ? [] : left.split(":");
  const back = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : 8 - front.length - back.length;
  return [...front, ...Array<string>(Math.max(0, zeros)).fill("0"), ...back].slice(0, 4).join(":");
}
