import { formatAddress } from "./addresses.ts";
import type { Plan } from "./plan.ts";

/** What one sandbox may take of the machine's network, in each direction; what the server itself sends and gets does not count. */
export interface NetworkShares {
  /** Bytes a second from the sandbox, and to it; 0: not bounded. */
  readonly bandwidth: number;
  /** Packets a second from the sandbox, and to it; 0: not bounded. */
  readonly packets: number;
  /** Connections at once, recently ended ones included. So no sandbox fills the machine's tables. */
  readonly connections: number;
  /** Packets a second to the name server, which runs in the server's process. */
  readonly questions: number;
}

export const DEFAULT_SHARES: NetworkShares = { bandwidth: 256 << 20, packets: 100_000, connections: 4096, questions: 200 };

/** Bytes that may go at once beside those of a second: enough for the large packets that the kernel makes of many. */
const BURST_BYTES = 512 << 10;

const set = (name: string) => `  set ${name} {
    type ipv4_addr
    size 65535
    flags dynamic,timeout
    timeout 1m
  }
`;

/** The sets of these rules: how much of its share each sandbox has left. None where nothing is bounded. */
export const shareSets = ({ bandwidth, packets }: NetworkShares): string =>
  [...(packets > 0 ? ["packets_out", "packets_in"] : []), ...(bandwidth > 0 ? ["bytes_out", "bytes_in"] : [])].map(set).join("");

/** Drops what is above a share. Packets come first: who sends too many of them takes the machine's time, however small they are. */
function over({ bandwidth, packets }: NetworkShares, direction: "out" | "in", address: "saddr" | "daddr"): string {
  const rule = (name: string, limit: string) => `    update @${name}_${direction} { ip ${address} limit rate over ${limit} } drop\n`;
  return (
    (packets > 0 ? rule("packets", `${packets}/second burst ${Math.max(1, Math.floor(packets / 4))} packets`) : "") +
    (bandwidth > 0 ? rule("bytes", `${bandwidth} bytes/second burst ${BURST_BYTES} bytes`) : "")
  );
}

/** The chains `share_out`, to which packets of sandboxes jump, and `shares`, which sees all packets to them. `sandboxes`: their groups of links. */
export function shareChains(plan: Plan, shares: NetworkShares, sandboxes: string): string {
  const [host, gateway] = [formatAddress(plan.hostAddress), formatAddress(plan.gateway)];
  return `  chain share_out {
${over(shares, "out", "saddr")}  }
  chain share_in {
${over(shares, "in", "daddr")}  }
  chain shares {
    type filter hook postrouting priority filter; policy accept;
    oifgroup != ${sandboxes} accept
    ip saddr ${host} accept
    ip saddr ${gateway} udp sport 53 accept
    goto share_in
  }`;
}
