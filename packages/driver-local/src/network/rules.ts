import { createHash } from "node:crypto";
import { BLOCKED_NETWORKS } from "@boxyard/core";
import { formatAddress, formatNetwork } from "./addresses.ts";
import { GROUP, LISTED, type Plan } from "./plan.ts";

/**
 * The nftables rules. None names a single sandbox: they go by the group of a link and by the routing table of the router, so that plugging
 * a sandbox in or out never touches them.
 */

/** Connections a sandbox may have open at once, those that have just ended included. Keeps one from filling the machine's tables. */
export const MAX_FLOWS = 4096;

/** Of the connections that the machine can track, what all sandboxes of a server together may have. */
const SHARE_OF_FLOWS = 1 / 2;
/** The kernel counts them in so many heaps, each by walking along it. Which heap a connection is in, nobody can foresee. */
const FLOW_HEAPS = 256;

/** Packets to the name server in a second. It runs in the server's process, whose time sandboxes must not be able to take. */
export const DNS_RATE = {
  perSandbox: 200,
  /** Of all that goes beyond `modest`. */
  total: 4000,
  /** Of each sandbox, whatever the others do. */
  modest: 5,
} as const;

/** Connection tracking puts fragments together at -400. */
const BEFORE_DEFRAGMENTATION = -450;

/** A table with a chain that names its own text, so that "is exactly this in force?" is one cheap question to the kernel. */
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
const sandboxes = `{ ${[GROUP.online, GROUP.offline, ...LISTED].join(", ")} }`;

/** Set on a packet of a sandbox that has a list, when its destination is on it. Not a number that `all_flows` uses. */
export const PERMITTED_MARK = 0x10000;

/**
 * Rules of the router. `mostTracked`: how many connections the machine can track. `machineAddresses` are the machine's own ones: the machine refuses sandboxes by itself, this is a second lock that
 * holds while somebody reloads the machine's rules.
 */
export function routerRules(plan: Plan, machineAddresses: readonly string[], mostTracked: number): Ruleset {
  const heap = Math.max(1, Math.floor((mostTracked * SHARE_OF_FLOWS) / FLOW_HEAPS));
  const network = formatNetwork(plan.network);
  const gateway = formatAddress(plan.gateway);
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
    size ${FLOW_HEAPS}
    flags dynamic
  }
  set askers {
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
  chain fragments {
    type filter hook prerouting priority ${BEFORE_DEFRAGMENTATION}; policy accept;
    iifgroup ${sandboxes} ip frag-off & 0x3fff != 0 drop comment "incomplete packets would wait in a memory that all sandboxes share"
  }
  chain raw {
    type filter hook prerouting priority raw; policy drop;
    meta nfproto != ipv4 drop
    iifname { "lo", "${plan.routerUplink}" } accept
    iifgroup != ${sandboxes} drop
    ip saddr != ${network} drop
    fib saddr . iif oif eq 0 drop comment "a sandbox speaks only with the address that is routed to its link"
    ip daddr ${gateway} notrack
    meta mark set 0
    accept
  }
  chain raw_output {
    type filter hook output priority raw; policy accept;
    ip saddr ${gateway} notrack
  }
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "lo" accept
    iifgroup ${sandboxes} ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 goto names
    iifgroup ${sandboxes} goto refuse
    ct state established,related accept
  }
  chain names {
    update @askers { ip saddr limit rate over ${DNS_RATE.perSandbox}/second burst ${2 * DNS_RATE.perSandbox} packets } drop
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
    iifgroup ${GROUP.offline} goto refuse
    iifgroup ${listed} meta mark != ${PERMITTED_MARK} goto refuse
    ct state established,related accept
    oifname != "${plan.routerUplink}" goto refuse
    ip daddr @blocked goto refuse
    ip daddr @machine goto refuse
    meta l4proto != { tcp, udp, icmp } goto refuse
    meta l4proto icmp icmp type != echo-request drop
    add @flows { ip saddr ct count over ${MAX_FLOWS} } goto refuse
    meta mark set ct id & 0x${(FLOW_HEAPS - 1).toString(16)} comment "a number that the kernel draws for each connection"
    add @all_flows { meta mark ct count over ${heap} } goto refuse
    accept
  }
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with icmp type admin-prohibited
  }`,
  );
}

/**
 * Rules of the machine. `opened`: links on which we turned forwarding on; what comes in there and is not for us goes nowhere, as before.
 * With `opened` empty another program forwards on this machine, and its traffic is left alone.
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
    oifname "${plan.hostLink}" meta skuid != 0 goto refuse comment "sandboxes are the server's to speak with, which is root's, not the machine's users'"
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
