import { Resolver } from "node:dns/promises";

/** Addresses that are tried for a name. */
const MAX_ADDRESSES = 4;
/** Bounds of how long an answer is used, in seconds. */
const TTL = { least: 1, most: 60 } as const;
const MAX_NAMES = 4096;

interface Known {
  readonly addresses: readonly string[];
  /** Monotonic ms. */
  readonly until: number;
}

/** Asks a name server for addresses, and keeps the answers for as long as they say. */
export class Names {
  private readonly resolver = new Resolver({ timeout: 2000, tries: 2 });
  private readonly known = new Map<string, Known>();
  private readonly asking = new Map<string, Promise<readonly string[]>>();
  private readonly now: () => number;

  constructor(nameServer: string, now: () => number) {
    this.resolver.setServers([nameServer]);
    this.now = now;
  }

  /** The IPv4 addresses of a name, none when it has none or nobody answers. */
  find(host: string): readonly string[] | Promise<readonly string[]> {
    const known = this.known.get(host);
    if (known && known.until > this.now()) return known.addresses;
    const asking = this.asking.get(host) ?? this.ask(host).finally(() => this.asking.delete(host));
    this.asking.set(host, asking);
    return asking;
  }

  private async ask(host: string): Promise<readonly string[]> {
    let records: { address: string; ttl: number }[];
    try {
      records = await this.resolver.resolve4(host, { ttl: true });
    } catch {
      return [];
    }
    const addresses = records.slice(0, MAX_ADDRESSES).map(({ address }) => address);
    const seconds = Math.min(TTL.most, Math.max(TTL.least, ...records.map(({ ttl }) => ttl)));
    this.keep(host, { addresses, until: this.now() + seconds * 1000 });
    return addresses;
  }

  private keep(host: string, known: Known): void {
    this.known.delete(host);
    this.known.set(host, known);
    // A map keeps the order of insertion: the oldest answer goes first.
    for (const oldest of this.known.keys()) {
      if (this.known.size <= MAX_NAMES) return;
      this.known.delete(oldest);
    }
  }
}
