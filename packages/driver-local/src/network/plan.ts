import { AppError } from "@boxyard/core";
import { type EgressPolicy, hostRules, permittedRanges } from "@boxyard/driver";
import { type Address, type Network, networkSize, parseNetwork } from "./addresses.ts";

/**
 * Every name and number that one instance uses on the machine, derived from the instance's name and range. Two instances with different
 * names and ranges share nothing.
 */
export interface Plan {
  readonly instance: string;
  readonly network: Network;
  /** The router's address: gateway and DNS of every sandbox. */
  readonly gateway: Address;
  /** Address of the machine's end of the link to the router; the source address of the server's packets to sandboxes. */
  readonly hostAddress: Address;
  readonly firstLease: Address;
  readonly lastLease: Address;
  /** Name of the machine's end of the link to the router. */
  readonly hostLink: string;
  /** Name of the router's end of that link. */
  readonly routerUplink: string;
  /** Group of the `hostLink` of every instance, by which instances recognise each other's links. */
  readonly hostGroup: number;
  /** Name of the nftables table, on the machine and in the router. */
  readonly table: string;
  /** Name of the router's nftables table for the lists of single sandboxes (`lists.ts`). */
  readonly listTable: string;
  /** File on which the router's network namespace is mounted. */
  readonly namespaceFile: string;
}

/** Groups of the links in the router; every other link has group 0. */
export const GROUP = {
  /** May reach the outside. */
  online: 1,
  /** Answers the server only. */
  offline: 2,
  /** Unplugged; the link goes as soon as its sandbox's namespace ends. */
  doomed: 3,
  /** Of a paused sandbox whose processes are still there, frozen: no packet passes, and the link stays for a quick wake. */
  frozen: 4,
  /** May reach the addresses of its list (`lists.ts`), which is all but the denied ones; the name server answers it. */
  mostlyOpen: 5,
  /** May reach only the addresses that its list allows; the name server refuses its questions. */
  mostlyClosed: 6,
  /** May reach the addresses that its list allows, and hosts by name through the egress proxy; the name server answers its questions for these names. */
  named: 7,
} as const;

/** The groups of links whose sandboxes have a list. */
export const LISTED: readonly number[] = [GROUP.mostlyOpen, GROUP.mostlyClosed, GROUP.named];
export const isListed = (group: number): boolean => LISTED.includes(group);

/** The group of a sandbox's link. */
export function groupFor(egress: EgressPolicy): number {
  if (hostRules(egress).length > 0) return GROUP.named;
  const [range, ...more] = permittedRanges(egress);
  // What is answered from a recording is led to the egress proxy by a list, which may be empty.
  if (!range) return egress.recording?.mode === "replay" ? GROUP.mostlyClosed : GROUP.offline;
  if (more.length === 0 && range.first === 0 && range.last === LAST_ADDRESS && !egress.edge && !egress.recording) return GROUP.online;
  return egress.internetAccess ? GROUP.mostlyOpen : GROUP.mostlyClosed;
}

/** Whether the name server answers all questions of a sandbox whose link is in this group. */
export const resolvesNames = (group: number | undefined): boolean => group === GROUP.online || group === GROUP.mostlyOpen;

/** Ports of the gateway where the egress proxy takes what sandboxes send to ports 80 and 443, and to all others. Only connections that the router's rules lead there arrive. */
export const EGRESS_PORTS = { http: 15_080, tls: 15_443, raw: 15_000 } as const;

const LAST_ADDRESS = 2 ** 32 - 1;
/** "by" in ASCII and two arbitrary bytes, so that no other program is likely to use the number. */
const HOST_GROUP = 0x62790b0d;
const INSTANCE = /^[0-9a-f]{8}$/;
/** Addresses at the start of the range that are never leased. */
const RESERVED = 16;
/** The link of a lease has as its index this number plus the offset of its address in the range. */
const FIRST_INDEX = 1000;

export function makePlan(config: { instance: string; network: string; runDirectory: string }): Plan {
  if (!INSTANCE.test(config.instance)) {
    throw new AppError("invalid_argument", `'${config.instance}' is not an instance name (8 hex digits)`, { reason: "invalid_instance" });
  }
  const network = parseNetwork(config.network);
  if (network.prefix < 12 || network.prefix > 24) {
    throw new AppError("invalid_argument", `The network ${config.network} must have a prefix from /12 to /24`, {
      reason: "invalid_network",
    });
  }
  return {
    instance: config.instance,
    network,
    gateway: network.base + 1,
    hostAddress: network.base + 2,
    firstLease: network.base + RESERVED,
    lastLease: network.base + networkSize(network) - 2,
    hostLink: `by${config.instance}`,
    routerUplink: "host0",
    hostGroup: HOST_GROUP,
    table: `boxyard_${config.instance}`,
    listTable: `boxyard_${config.instance}_lists`,
    namespaceFile: `${config.runDirectory}/boxyard-${config.instance}`,
  };
}

/** Name of a lease's link in the router. */
export function leaseLink(address: Address): string {
  return `s${address.toString(16).padStart(8, "0")}`;
}

/** The lease address behind a link's name; undefined for other links. */
export function addressOfLink(name: string): Address | undefined {
  return /^s[0-9a-f]{8}$/.test(name) ? Number.parseInt(name.slice(1), 16) : undefined;
}

/** Index of a lease's link in the router. It is known before the link exists, so that one batch of messages can make the link and use it. */
export function leaseIndex(plan: Plan, address: Address): number {
  return FIRST_INDEX + (address - plan.network.base);
}

/** Hardware addresses are derived from addresses, so that no ARP request is needed. Locally administered; the second byte distinguishes the ends. */
export function macOf(end: "sandbox" | "router" | "host", address: Address): Uint8Array {
  const kind = { sandbox: 0x62, router: 0x63, host: 0x64 }[end];
  return new Uint8Array([0x02, kind, address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255]);
}
