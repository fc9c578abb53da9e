import { BLOCKED_NETWORKS } from "@boxyard/core";
import { parseRange } from "./address-ranges.ts";
import { canonicalHost } from "./host-names.ts";

/** A proxy outside through which connections of a sandbox go. */
export interface UpstreamProxy {
  /** `http`: by the method CONNECT. */
  readonly protocol: "socks5" | "http";
  /** Name, as `canonicalHost` gives it, or IPv4 address. */
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  /** The proxy itself is spoken to by TLS, and its certificate must be valid. */
  readonly tls?: {
    /** Name in the certificate. */
    readonly serverName: string;
    /** Its authorities in PEM form; absent: those of the machine. */
    readonly caCert?: string;
  };
}

/** Longest user name and password, in bytes (RFC 1929). */
const MAX_CREDENTIAL = 255;
const SCHEME = /^(?:(socks5h?|http):\/\/)?([^/]*)$/i;
const PORT = /^[1-9]\d{0,4}$/;
const blocked = BLOCKED_NETWORKS.map((network) => parseRange(network));

/** The protocol, host and port of `[socks5://|http://]HOST:PORT`; SOCKS5 by default. Undefined for other text. */
export function parseProxyAddress(text: string): Pick<UpstreamProxy, "protocol" | "host" | "port"> | undefined {
  const [, scheme = "socks5", authority = ""] = SCHEME.exec(text) ?? [];
  const colon = authority.lastIndexOf(":");
  const [name, port] = [authority.slice(0, Math.max(0, colon)), authority.slice(colon + 1)];
  const host = isAddress(name) ? name : canonicalHost(name);
  if (host === undefined || !PORT.test(port) || Number(port) > 65_535) return undefined;
  return { protocol: scheme.toLowerCase() === "http" ? "http" : "socks5", host, port: Number(port) };
}

/** Whether text is an IPv4 address. */
const isAddress = (text: string) => !text.includes("/") && parseRange(text) !== undefined;

/** Whether an IPv4 address is closed to every sandbox. */
export function isBlockedAddress(address: string): boolean {
  const number = parseRange(address)?.first;
  return number === undefined || blocked.some((range) => range && range.first <= number && number <= range.last);
}

/** Whether text can be a user name or a password: every protocol carries it as it is. */
export const isCredential = (text: string): boolean => Buffer.byteLength(text) <= MAX_CREDENTIAL && !hasControl(text);
const hasControl = (text: string) => [...text].some((char) => char < " " || char === "\x7f");

export function isUsableProxy({ protocol, host, port, username = "", password = "" }: UpstreamProxy): boolean {
  const isHost = isAddress(host) ? !isBlockedAddress(host) : canonicalHost(host) === host;
  const isPort = Number.isInteger(port) && port >= 1 && port <= 65_535;
  return isHost && isPort && isCredential(username) && isCredential(password) && !(protocol === "http" && username.includes(":"));
}
