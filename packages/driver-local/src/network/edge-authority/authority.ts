import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Identity, newAuthority, newKeys, newLeaf, type Signer, signerOf } from "./certificates.ts";

/** Certificates that are kept; the one that was made first goes first. */
const MAX_LEAVES = 1024;
/** How long one is handed out. It is valid for longer. */
const LEAF_USE_MS = 24 * 3_600_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/;
const KEY = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/;

interface Leaf {
  readonly identity: Promise<Identity>;
  readonly madeAt: number;
}

const fileIn = (directory: string) => join(directory, "authority.pem");

/** The certificate of the authority in a directory, in PEM form; empty when there is none. */
export function edgeCertificate(directory: string): string {
  const path = fileIn(directory);
  return existsSync(path) ? (CERTIFICATE.exec(readFileSync(path, "utf8"))?.[0] ?? "") : "";
}

/**
 * The authority of one installation, by which the egress proxy opens TLS for hosts with rules. Every sandbox trusts its certificate. Its key is in a file
 * that only root reads, and in this process: the proxy, which parses what sandboxes send, gets certificates for single hosts and never the key.
 */
export class EdgeAuthority {
  private readonly identity: Identity;
  private readonly now: () => number;
  private readonly leaves = new Map<string, Leaf>();
  private signer: Promise<Signer> | undefined;
  /** One pair for all certificates of this process: it is in the proxy's memory in any case. */
  private keys: Promise<CryptoKeyPair> | undefined;

  private constructor(identity: Identity, now: () => number) {
    this.identity = identity;
    this.now = now;
  }

  /** Reads the authority of a directory; makes it, whole or not at all, where there is none. `now`: ms since 1970. */
  static async open(directory: string, name: string, now: () => number): Promise<EdgeAuthority> {
    const path = fileIn(directory);
    const found = existsSync(path) ? readFileSync(path, "utf8") : "";
    const [cert, key] = [CERTIFICATE.exec(found)?.[0], KEY.exec(found)?.[0]];
    if (cert !== undefined && key !== undefined) return new EdgeAuthority({ cert, key }, now);
    const made = await newAuthority(name, now());
    mkdirSync(directory, { recursive: true });
    writeFileSync(`${path}.new`, made.key + made.cert, { mode: 0o600 });
    renameSync(`${path}.new`, path);
    return new EdgeAuthority(made, now);
  }

  /** Whether the certificate of this name need not be signed. */
  has(host: string): boolean {
    const known = this.leaves.get(host);
    return known !== undefined && this.now() - known.madeAt < LEAF_USE_MS;
  }

  /** A certificate for this name of a host and its key. */
  leaf(host: string): Promise<Identity> {
    const known = this.leaves.get(host);
    if (known && this.now() - known.madeAt < LEAF_USE_MS) return known.identity;
    this.leaves.delete(host);
    const identity = this.sign(host);
    this.leaves.set(host, { identity, madeAt: this.now() });
    identity.catch(() => this.leaves.delete(host));
    for (const oldest of this.leaves.keys()) {
      if (this.leaves.size <= MAX_LEAVES) break;
      this.leaves.delete(oldest);
    }
    return identity;
  }

  private async sign(host: string): Promise<Identity> {
    this.signer ??= signerOf(this.identity);
    this.keys ??= newKeys();
    return newLeaf(await this.signer, await this.keys, host, this.now());
  }
}
