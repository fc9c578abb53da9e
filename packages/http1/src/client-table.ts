import type { ClientConnection } from "./client-connection.ts";

/** Of all connections, one address may have so many. */
const SHARE = 3 / 4;
/** Of all connections, so many are closed at a time: looking for them costs a walk over all of an address. */
const CLOSED_AT_A_TIME = 1 / 256;

/**
 * The connections of clients, of which there is a greatest number. When it is reached, or an address has its share, the connection that has
 * been idle for longest makes room: of the address that has most, and one that has shown no right to be here before others. A connection
 * that is being answered is never closed for another.
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

  /** False when there is no room. */
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

  /** False when none of them is idle. */
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

/** Who has one IPv6 address has as many as its network of 64 bits holds. */
function accountOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [left = "", right] = address.split("::");
  const front = left === "" ? [] : left.split(":");
  const back = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : 8 - front.length - back.length;
  return [...front, ...Array<string>(Math.max(0, zeros)).fill("0"), ...back].slice(0, 4).join(":");
}
