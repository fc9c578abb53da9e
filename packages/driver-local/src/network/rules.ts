import { createHash } from "node:crypto";
import { BLOCKED_NETWORKS } from "@boxyard/core";
import { formatAddress, formatNetwork } from "./addresses.ts";
import { EGRESS_PORTS, GROUP, LISTED, type Plan } from "./plan.ts";
import { DEFAULT_SHARES, type NetworkShares, shareChains, shareSets } from "./shares.ts";

/**
 * The nftables rules. None names a single sandbox: they use the group of a link and the routing table of the router, so that they do not
 * change when a sandbox is plugged in or unplugged.
 */

/** The part of the connections that the machine can track which all sandboxes of a server together may have. */
const SHARE_OF_FLOWS = 1 / 2;
/** The kernel counts these connections in so many buckets: for each count it walks one bucket's list. No sandbox can predict a connection's bucket. */
const FLOW_BUCKETS = 256;

/** Packets per second to the name server, beside each sandbox's share. It runs in the server's process, whose CPU time sandboxes must not be able to exhaust. */
export const DNS_RATE = {
  /** For all sandboxes together, counting only packets above each sandbox's `modest` rate. */
  total: 4000,
  /** Accepted from each sandbox, whatever the others send. */
  modest: 5,
} as const;

/** Group of netfilter to which the router's rules report what sandboxes try to reach. Groups are those of one network namespace. */
export const PACKET_GROUP = 21;

/** Packets of one sandbox that are reported a second, and how many at once: what is refused, and first packets of connections that are not. */
const REPORTED = { perSecond: 10, burst: 50 } as const;

/** Chains that refuse, each of them with its reason (`AttemptRule` of the driver package). */
const REASONS = ["internetAccess", "lists", "blocked", "machine", "protocol", "connections"] as const;

/** Connection tracking reassembles fragments at priority -400. */
const BEFORE_DEFRAGMENTATION = -450;

/** A table with a chain whose name is a hash of the table's text, so that one cheap question to the kernel tells whether this text is in force. */
export interface Ruleset {
  readonly table: string;
  /** Name of the empty chain that is there if and only if this very text is in force. */
  readonly marker: string;
  /** For `nft -f`: replaces the table in one transaction. */
  readonly text: string;
}

function ruleset(table: string, body: string): Ruleset {
  const marker = `text_${createHash("sha256").update(body).digest("hex").slice(0, 16)}`;
  const text = `table inet ${table}\ndelete table inet ${table}\ntable inet ${table} {\n  chain ${marker} {\n  }\n${body}\n}\n`;
  return { table, marker, text };
}

const listed = `{ ${LISTED.join(", ")} }`;
const proxyPorts = `{ ${Object.values(EGRESS_PORTS).join(", ")} }`;
const sandboxes = `{ ${[GROUP.online, GROUP.offline, ...LISTED].join(", ")} }`;

/** Mark of a packet whose destination is on the list of its sandbox. Outside the numbers that `all_flows` uses. */
export const PERMITTED_MARK = 0x10000;

/**
 * Rules of the router. `mostTracked`: how many connections the machine can track. `machineAddresses`: the machine's own addresses. The machine's
 * rules refuse sandboxes too; the router also refuses them because another program may be reloading the machine's rules. `reports` false: for kernels that
 * cannot report packets.
 */
export function routerRules(
  plan: Plan,
  machineAddresses: readonly string[],
  mostTracked: number,
  { reports = true, shares = DEFAULT_SHARES }: { readonly reports?: boolean; readonly shares?: NetworkShares } = {},
): Ruleset {
  const { connections, questions } = shares;
  const perBucket = Math.max(1, Math.floor((mostTracked * SHARE_OF_FLOWS) / FLOW_BUCKETS));
  const network = formatNetwork(plan.network);
  const gateway = formatAddress(plan.gateway);
  const report = (reason: string, set: string) =>
    reports
      ? `    update @${set} { ip saddr limit rate ${REPORTED.perSecond}/second burst ${REPORTED.burst} packets } log prefix "${reason}" group ${PACKET_GROUP} snaplen 64\n`
      : "";
  const refusing = REASONS.map((reason) => `  chain refuse_${reason} {\n${report(reason, "reported")}    goto refuse\n  }`).join("\n");
  const own = machineAddresses.length ? `    elements = { ${machineAddresses.join(", ")} }\n` : "";
  return ruleset(
    plan.table,
    `  set blocked {
    type ipv4_addr
    flags interval
    auto-merge
    elements = { ${[...BLOCKED_NETWORKS, network].join(", ")} }
  }
  set machine {
    type ipv4_addr
${own}  }
  set flows {
    type ipv4_addr
    size 65535
    flags dynamic
  }
  set all_flows {
    type mark
    size ${FLOW_BUCKETS}
    flags dynamic
  }
  set reported {
    type ipv4_addr
    size 65535
    flags dynamic,timeout
    timeout 1m
  }
  set reported_new {
    type ipv4_addr
    size 65535
    flags dynamic,timeout
    timeout 1m
  }
  set clients {
    type ipv4_addr
    size 65535
    flags dynamic,timeout
    timeout 1m
  }
  set eager {
    type ipv4_addr
    size 65535
    flags dynamic,timeout
    timeout 1m
  }
${shareSets(shares)}${shareChains(plan, shares, sandboxes)}
  chain fragments {
    type filter hook prerouting priority ${BEFORE_DEFRAGMENTATION}; policy accept;
    iifgroup ${sandboxes} ip frag-off & 0x3fff != 0 drop comment "incomplete packets would wait in memory that all sandboxes share"
  }
  chain raw {
    type filter hook prerouting priority raw; policy drop;
    meta nfproto != ipv4 drop
    iifname { "lo", "${plan.routerUplink}" } accept
    iifgroup != ${sandboxes} drop
    ip saddr != ${network} drop
    fib saddr . iif oif eq 0 drop comment "a sandbox sends only from the address that is routed to its link"
    ip daddr != ${formatAddress(plan.hostAddress)} jump share_out
    ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 notrack
    meta mark set 0
    accept
  }
  chain raw_output {
    type filter hook output priority raw; policy accept;
    ip saddr ${gateway} meta l4proto { tcp, udp } th sport 53 notrack
  }
  chain output {
    type filter hook output priority filter; policy accept;
    oifname "${plan.routerUplink}" ct state new goto from_proxy
  }
  chain from_proxy {
    ip daddr @blocked goto refuse
    ip daddr @machine goto refuse
    accept
  }
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "lo" accept
    iifgroup ${sandboxes} ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 goto names
    iifgroup ${listed} ct status dnat ip daddr ${gateway} tcp dport ${proxyPorts} goto to_proxy
    iifgroup ${sandboxes} goto refuse_machine
    ct state established,related accept
  }
  chain to_proxy {
    ct state established accept
    add @flows { ip saddr ct count over ${connections} } goto refuse
    accept
  }
  chain names {
    update @clients { ip saddr limit rate over ${questions}/second burst ${2 * questions} packets } drop
    update @eager { ip saddr limit rate over ${DNS_RATE.modest}/second burst ${10 * DNS_RATE.modest} packets } goto more_names
    accept
  }
  chain more_names {
    limit rate over ${DNS_RATE.total}/second burst ${DNS_RATE.total} packets drop
    accept
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    ct state invalid drop
    iifname "${plan.routerUplink}" goto to_sandbox
    iifgroup ${sandboxes} goto from_sandbox
  }
  chain to_sandbox {
    ct state established,related accept
    ip saddr ${formatAddress(plan.hostAddress)} oifgroup ${sandboxes} accept
    drop
  }
  chain from_sandbox {
    ct state established,related ct direction reply accept
    iifgroup ${GROUP.offline} goto refuse_internetAccess
    iifgroup ${listed} meta mark != ${PERMITTED_MARK} goto refuse_lists
    ct state established,related accept
    oifname != "${plan.routerUplink}" goto refuse_blocked
    ip daddr @blocked goto refuse_blocked
    ip daddr @machine goto refuse_machine
    meta l4proto != { tcp, udp, icmp } goto refuse_protocol
    meta l4proto icmp icmp type != echo-request drop
    add @flows { ip saddr ct count over ${connections} } goto refuse_connections
    meta mark set ct id & 0x${(FLOW_BUCKETS - 1).toString(16)} comment "the bucket: a random number of the kernel for each connection"
    add @all_flows { meta mark ct count over ${perBucket} } goto refuse_connections
${report("allowed", "reported_new")}    accept
  }
${refusing}
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with icmp type admin-prohibited
  }`,
  );
}

/**
 * Rules of the machine. `opened`: links on which we turned forwarding on; packets from there that are not for sandboxes are dropped, as they were
 * before. With `opened` empty another program forwards on this machine, and its traffic is not touched.
 */
export function machineRules(plan: Plan, opened: readonly string[]): Ruleset {
  const network = formatNetwork(plan.network);
  const guard = opened.length
    ? `\n    iifname { ${opened.map((name) => `"${name}"`).join(", ")} } oifgroup != ${plan.hostGroup} drop comment "we opened forwarding here, for ourselves only"`
    : "";
  return ruleset(
    plan.table,
    `  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname != "${plan.hostLink}" accept
    ct state established,related accept
    goto refuse
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname "${plan.hostLink}" goto from_router
    oifname "${plan.hostLink}" goto to_router${guard}
  }
  chain from_router {
    ip saddr != ${network} drop
    meta nfproto != ipv4 drop
    oifgroup ${plan.hostGroup} drop
    ct status dnat goto refuse comment "a port published by a container engine is a service of the machine too"
    tcp flags syn tcp option maxseg size set rt mtu
    accept
  }
  chain to_router {
    ct state established,related accept
    drop
  }
  chain output {
    type filter hook output priority filter - 10; policy accept;
    oifname "${plan.hostLink}" meta skuid != 0 goto refuse comment "only the server, which runs as root, connects to sandboxes; the machine's users do not"
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    meta nfproto ipv4 ip saddr ${network} oifname != "${plan.hostLink}" masquerade
  }
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with icmp type admin-prohibited
  }`,
  );
}
