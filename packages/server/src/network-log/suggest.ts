import type { NetworkEntry } from "./entries.ts";

export interface SuggestedPolicy {
  readonly allowOut: readonly string[];
  readonly denyOut: readonly string[];
}

/** Ports on which a name in `allowOut` is reached. */
const NAMED_PORTS: ReadonlySet<number> = new Set([80, 443]);
const ALL = "0.0.0.0/0";

/**
 * The smallest policy that lets through what a sandbox has tried: names where the address was an answer to one and the port is that of HTTP or TLS, and
 * addresses else. Names that were only asked for count, because they would be refused without an entry. What is closed to every sandbox stays out.
 */
export function suggest(entries: readonly NetworkEntry[], isClosed: (address: string) => boolean): SuggestedPolicy {
  const nameOf = new Map<string, string>();
  const names = new Set<string>();
  const addresses = new Set<string>();
  for (const { name, answers = [] } of entries) {
    if (name === undefined || !isHostName(name)) continue;
    names.add(name);
    for (const address of answers) nameOf.set(address, name);
  }
  for (const { address, port, name } of entries) {
    // What has a name was decided by it.
    if (address === undefined || name !== undefined || isClosed(address)) continue;
    if (!nameOf.has(address) || port === undefined || !NAMED_PORTS.has(port)) addresses.add(address);
  }
  return { allowOut: [...[...names].sort(), ...[...addresses].sort()], denyOut: [ALL] };
}

/** Not of the questions for the names of addresses, for services and the like. */
const isHostName = (name: string) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name) && !name.endsWith(".arpa");
