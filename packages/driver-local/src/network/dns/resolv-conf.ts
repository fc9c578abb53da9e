import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";

/** As in the C library: at most three, and the machine itself when the file names none. */
const MAX_SERVERS = 3;
const DEFAULT_SERVERS: readonly string[] = ["127.0.0.1"];
const CHECK_EVERY_MS = 1000;
/** More than any real file has; the rest is ignored. */
const MAX_BYTES = 65536;

/** The name servers of a resolv.conf, in order. Entries that are not addresses are ignored. */
export function parseResolvConf(text: string): string[] {
  const servers: string[] = [];
  for (const line of text.slice(0, MAX_BYTES).split("\n")) {
    const [, server] = /^\s*nameserver\s+(\S+)/.exec(line) ?? [];
    if (server && isIP(server.split("%")[0] ?? "") && !servers.includes(server) && servers.length < MAX_SERVERS) servers.push(server);
  }
  return servers;
}

/** The machine's name servers, read again when the file changes. */
export class ResolvConf {
  private readonly path: string;
  private readonly monotonic: () => number;
  private servers: readonly string[] = DEFAULT_SERVERS;
  private stamp = "";
  private checkedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, monotonic: () => number) {
    this.path = path;
    this.monotonic = monotonic;
  }

  /** Looks at the file at most once a second. When it cannot be read, the last known servers stay. */
  current(): readonly string[] {
    const now = this.monotonic();
    if (now - this.checkedAt < CHECK_EVERY_MS) return this.servers;
    this.checkedAt = now;
    try {
      const { ino, size, mtimeMs, ctimeMs } = statSync(this.path);
      const stamp = `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
      if (stamp === this.stamp) return this.servers;
      const servers = parseResolvConf(readFileSync(this.path, "utf8"));
      this.servers = servers.length ? servers : DEFAULT_SERVERS;
      this.stamp = stamp;
    } catch {
      // A network manager is replacing the file, or there is none: the last known servers are the best guess.
    }
    return this.servers;
  }
}
