import { BlockList, isIP } from "node:net";

/** Gives the address of a client, by that of its connection and what the request says in `X-Forwarded-For`. */
export type ClientAddress = (peer: string, forwardedFor: string | undefined) => string;

/**
 * The address of a client. What `X-Forwarded-For` says counts only where the connection comes from a proxy that the operator has listed (`ADDRESS` or
 * `NETWORK/BITS`): anybody else could write anything there. The last entry that is no such proxy is the client.
 */
export function clientAddressOf(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList();
  for (const entry of trustedProxies) {
    const [address = "", bits] = entry.split("/");
    const kind = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (bits === undefined) trusted.addAddress(address, kind);
    else trusted.addSubnet(address, Number(bits), kind);
  }
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  return (peer, forwardedFor) => {
    let client = plain(peer);
    const hops = (forwardedFor ?? "").split(",").map((hop) => plain(hop.trim()));
    while (isIP(client) !== 0 && isTrusted(client)) {
      const before = hops.pop();
      if (before === undefined || isIP(before) === 0) return client;
      client = before;
    }
    return client;
  };
}

/** A socket that takes both families shows IPv4 addresses in this form. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "");
