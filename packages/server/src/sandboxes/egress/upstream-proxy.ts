import { X509Certificate } from "node:crypto";
import { AppError } from "@boxyard/core";
import { canonicalHost, isBlockedAddress, isCredential, parseProxyAddress, type UpstreamProxy } from "@boxyard/driver";
import type { EgressProxySetting } from "../../store/index.ts";

/** Longest list of authorities, in bytes. */
const MAX_CA_BYTES = 8192;

const refuse = (message: string) => new AppError("invalid_argument", `network.egressProxy.${message}`, { reason: "invalid_argument" });

/** The first thing of a proxy that cannot be, as an error. */
export function checkEgressProxy({ address, username, password, tls }: EgressProxySetting): AppError | undefined {
  const parsed = parseProxyAddress(address);
  if (!parsed)
    return refuse("address: must be HOST:PORT, or a URL of the schemes socks5 and http without a path; the host a name or an IPv4 address");
  if (canonicalHost(parsed.host) === undefined && isBlockedAddress(parsed.host))
    return refuse("address: is private, or one that no sandbox reaches");
  if (username !== undefined && !isCredential(username)) return refuse("username: has more than 255 bytes, or control characters");
  if (password !== undefined && !isCredential(password)) return refuse("password: has more than 255 bytes, or control characters");
  if (password !== undefined && username === undefined) return refuse("password: needs a username");
  if (parsed.protocol === "http" && username?.includes(":")) return refuse("username: cannot have ':' for a proxy of HTTP");
  return tls ? checkTls(tls) : undefined;
}

function checkTls({ enabled, serverName, caCert }: NonNullable<EgressProxySetting["tls"]>): AppError | undefined {
  if (!enabled) return serverName === undefined && caCert === undefined ? undefined : refuse("tls: has other members, but is not enabled");
  if (serverName !== undefined && canonicalHost(serverName) === undefined) return refuse("tls.serverName: is no name of a host");
  if (caCert !== undefined && Buffer.byteLength(caCert) > MAX_CA_BYTES) return refuse(`tls.caCert: has more than ${MAX_CA_BYTES} bytes`);
  return caCert === undefined || isCertificate(caCert) ? undefined : refuse("tls.caCert: is no certificate in PEM form");
}

function isCertificate(pem: string): boolean {
  try {
    return pem.includes("-----BEGIN CERTIFICATE-----") && new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

/** A proxy that `checkEgressProxy` accepted, as a driver takes it. */
export function upstreamProxyOf({ address, username, password, tls }: EgressProxySetting): UpstreamProxy | undefined {
  const parsed = parseProxyAddress(address);
  if (!parsed) return undefined;
  const { serverName, caCert } = tls ?? {};
  return {
    ...parsed,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls?.enabled && { tls: { serverName: serverName ?? parsed.host, ...(caCert !== undefined && { caCert }) } }),
  };
}

/** As it was given, without what callers never get back: the password, and the authorities of TLS. */
export function presentEgressProxy({ address, username, tls }: EgressProxySetting): EgressProxySetting {
  return {
    address,
    ...(username !== undefined && { username }),
    ...(tls?.enabled && { tls: { enabled: true, ...(tls.serverName !== undefined && { serverName: tls.serverName }) } }),
  };
}
