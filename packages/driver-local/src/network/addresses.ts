import { AppError } from "@boxyard/core";

/** An IPv4 address as a number, first octet highest. */
export type Address = number;

/** A network in CIDR form; `base` has no bits below the prefix. */
export interface Network {
  readonly base: Address;
  readonly prefix: number;
}

const CIDR = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d{1,2}))?$/;

function parse(text: string): { address: Address; prefix: number | undefined } | undefined {
  const match = CIDR.exec(text);
  if (!match) return undefined;
  const octets = match.slice(1, 5).map(Number) as [number, number, number, number];
  const prefix = match[5] === undefined ? undefined : Number(match[5]);
  if (octets.some((o) => o > 255) || (prefix !== undefined && prefix > 32)) return undefined;
  return { address: ((octets[0] << 24) | (octets[1] << 16) | (octets[2] << 8) | octets[3]) >>> 0, prefix };
}

/** `10.0.0.1` to a number; undefined when it is not an address. */
export function parseAddress(text: string): Address | undefined {
  const parsed = parse(text);
  return parsed?.prefix === undefined ? parsed?.address : undefined;
}

export function formatAddress(address: Address): string {
  return [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255].join(".");
}

export function formatNetwork(network: Network): string {
  return `${formatAddress(network.base)}/${network.prefix}`;
}

const maskOf = (prefix: number): number => (prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0);

/** `10.208.0.0/16`. Throws `invalid_argument`, reason `invalid_network`, also when bits are set below the prefix. */
export function parseNetwork(text: string): Network {
  const parsed = parse(text);
  if (parsed?.prefix === undefined || (parsed.address & ~maskOf(parsed.prefix)) !== 0) {
    throw new AppError("invalid_argument", `'${text}' is not an IPv4 network such as 10.208.0.0/16`, { reason: "invalid_network" });
  }
  return { base: parsed.address, prefix: parsed.prefix };
}

export const networkSize = (network: Network): number => 2 ** (32 - network.prefix);

export function contains(network: Network, address: Address): boolean {
  return (address & maskOf(network.prefix)) >>> 0 === network.base;
}

export function overlaps(a: Network, b: Network): boolean {
  const mask = maskOf(Math.min(a.prefix, b.prefix));
  return (a.base & mask) >>> 0 === (b.base & mask) >>> 0;
}
