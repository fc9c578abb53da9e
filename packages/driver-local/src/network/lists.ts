import { createHash } from "node:crypto";
import { BLOCKED_NETWORKS, SerialQueue } from "@boxyard/core";
import { type AddressRange, type EgressPolicy, permittedRanges } from "@boxyard/driver";
import { type Address, formatAddress, formatNetwork } from "./addresses.ts";
import { hasChain, listChains } from "./netlink/nf-tables.ts";
import type { NetlinkSocket } from "./netlink/socket.ts";
import { nft } from "./nft.ts";
import { addressOfLink, EGRESS_PORTS, GROUP, groupFor, isListed, LISTED, leaseLink, type Plan } from "./plan.ts";
import { PERMITTED_MARK } from "./rules.ts";

/** Marks packets of sandboxes with a list. Runs before the router's own rules, which accept such a packet only with the mark. */
const BASE_CHAIN = "forward";
/**
 * Leads connections of sandboxes to the egress proxy: of those with names among their rules, where the list does not permit the address; of those with rules
 * for requests, every connection to port 443; of those whose traffic goes through a proxy outside, every connection.
 */
const DIVERT_CHAIN = "divert";
/** End the names of chains of such sandboxes. */
const NAMED = "_named";
const EDGE = "_edge";
/** In the names of chains of such sandboxes: their exchanges are kept in a recording, or answered from one. */
const RECORD = "_record";
const REPLAY = "_replay";
/** Ends the name of a chain of a sandbox whose traffic goes through a proxy. */
const PROXIED = "_proxied";

export interface ListsOptions {
  readonly plan: Plan;
  /** A netfilter socket in the router's namespace. */
  readonly netlink: NetlinkSocket;
}

/** The list in force for one sandbox. `text` is undefined for a list that an earlier server made. */
interface InForce {
  readonly chain: string;
  readonly text?: string;
}

/**
 * The sets of permitted addresses, one for each sandbox that has a list. They are in their own nftables table, which stays when the router's
 * rules are replaced. This table only marks packets. The router's rules refuse packets without the mark: so a lost table closes the sandbox,
 * and no list permits what these rules refuse. The name of a sandbox's chain contains a hash of its text, so that the chains in the kernel show
 * which list is in force. Sandboxes without a list cost nothing here.
 */
export class Lists {
  private readonly options: ListsOptions;
  private readonly inForce = new Map<Address, InForce>();
  /** One `nft` at a time: a transaction fails when another one is committed while it runs. */
  private readonly queue = new SerialQueue();

  constructor(options: ListsOptions) {
    this.options = options;
  }

  /** Finds the lists that an earlier server made, or an `nft` that failed after its commit. Repeatable. */
  open(): void {
    const { plan, netlink } = this.options;
    for (const chain of listChains(netlink, plan.listTable)) {
      const address = addressOfLink(chain.split("_")[0] ?? "");
      if (address !== undefined && this.inForce.get(address)?.chain !== chain) this.inForce.set(address, { chain });
    }
  }

  /** Puts the list of a policy in force, if the policy needs one. Starts no process when it is in force already. */
  put(address: Address, egress: EgressPolicy): Promise<void> {
    const group = groupFor(egress);
    if (!isListed(group)) return Promise.resolve();
    const elements = permittedRanges(egress).map(formatRange).join(", ");
    const hash = createHash("sha256").update(elements).digest("hex").slice(0, 16);
    const recorded = egress.recording ? (egress.recording.mode === "record" ? RECORD : REPLAY) : "";
    const edge = egress.isProxied ? PROXIED : egress.edge || egress.recording ? EDGE : "";
    const chain = `${leaseLink(address)}_${hash}${recorded}${group === GROUP.named ? NAMED : ""}${edge}`;
    return this.queue.run(() => this.replace(address, { chain, text: this.listText(chain, address, elements) }));
  }

  /** Removes a sandbox's list; fine when there is none. */
  drop(address: Address): Promise<void> {
    if (!this.inForce.has(address)) return Promise.resolve();
    return this.queue.run(() => this.remove([address]));
  }

  /** Restores lists that another program removed, and removes the lists of addresses that are no longer in use. */
  mend(isInUse: (address: Address) => boolean): Promise<void> {
    if (this.inForce.size === 0) return Promise.resolve();
    return this.queue.run(async () => {
      await this.remove([...this.inForce.keys()].filter((address) => !isInUse(address)));
      for (const [address, list] of this.inForce) if (list.text !== undefined) await this.replace(address, list);
    });
  }

  private async replace(address: Address, list: InForce): Promise<void> {
    const before = this.inForce.get(address);
    if (!this.isThere(list)) await this.apply(this.textFor(before, address) + (list.text ?? ""));
    this.inForce.set(address, list);
  }

  private async remove(addresses: readonly Address[]): Promise<void> {
    const text = addresses.map((address) => this.removalText(this.inForce.get(address), address)).join("");
    if (text !== "") await this.apply(text);
    for (const address of addresses) this.inForce.delete(address);
  }

  private async apply(text: string): Promise<void> {
    try {
      await nft(text, this.options.plan.namespaceFile);
    } catch (error) {
      // An nft that was killed may have committed. Only the kernel knows, and a list that is not known here could never be replaced.
      this.open();
      throw error;
    }
  }

  private isThere({ chain }: InForce): boolean {
    const { netlink, plan } = this.options;
    return hasChain(netlink, plan.listTable, chain) && (!isDiverted(chain) || hasChain(netlink, plan.listTable, divertOf(chain)));
  }

  /** Makes what all lists share and removes the sandbox's previous list. Correct whether or not these exist. */
  private textFor(before: InForce | undefined, address: Address): string {
    const table = `inet ${this.options.plan.listTable}`;
    return `${this.removalText(before, address)}add table ${table}
${mapText(table)}add chain ${table} ${BASE_CHAIN} { type filter hook forward priority filter - 5; policy accept; }
flush chain ${table} ${BASE_CHAIN}
add rule ${table} ${BASE_CHAIN} iifgroup { ${LISTED.join(", ")} } ip saddr vmap @lists
add chain ${table} ${DIVERT_CHAIN} { type nat hook prerouting priority dstnat; policy accept; }
flush chain ${table} ${DIVERT_CHAIN}
add rule ${table} ${DIVERT_CHAIN} iifgroup { ${LISTED.join(", ")} } ip saddr vmap @diverted
`;
  }

  /** Adds the element before it deletes it: nft would refuse the whole text if another program had deleted the element. */
  private removalText(list: InForce | undefined, address: Address): string {
    if (!list || !this.isThere(list)) return "";
    const table = `inet ${this.options.plan.listTable}`;
    const { chain } = list;
    return `${mapText(table)}add element ${table} lists { ${formatAddress(address)} : goto ${chain} }
delete element ${table} lists { ${formatAddress(address)} }
delete chain ${table} ${chain}
${isDiverted(chain) ? this.undivertText(chain, address) : ""}delete set ${table} ${chain}
`;
  }

  private undivertText(chain: string, address: Address): string {
    const table = `inet ${this.options.plan.listTable}`;
    return `add element ${table} diverted { ${formatAddress(address)} : goto ${divertOf(chain)} }
delete element ${table} diverted { ${formatAddress(address)} }
delete chain ${table} ${divertOf(chain)}
`;
  }

  private divertText(chain: string, address: Address): string {
    const table = `inet ${this.options.plan.listTable}`;
    const gateway = formatAddress(this.options.plan.gateway);
    const divert = divertOf(chain);
    const rule = (text: string) => `add rule ${table} ${divert} ${text}\n`;
    const toTls = `tcp dport 443 dnat ip to ${gateway}:${EGRESS_PORTS.tls}`;
    const toHttp = `tcp dport 80 dnat ip to ${gateway}:${EGRESS_PORTS.http}`;
    // A recording answers whatever the address is: names lead to one that stands for all of them.
    const answered = chain.includes(REPLAY) ? rule(toTls) + rule(toHttp) : "";
    const kept = chain.includes(RECORD) ? rule(`ip daddr @${chain} ${toHttp}`) : "";
    // What is closed to every sandbox stays with the router's rules, which refuse it: no proxy is asked for it.
    const proxied = isProxied(chain)
      ? rule(`ip daddr { ${BLOCKED_NETWORKS.join(", ")} } return`) +
        rule(`ip daddr ${formatNetwork(this.options.plan.network)} return`) +
        rule(`ip daddr @${chain} ${toTls}`) +
        kept +
        rule(`ip daddr @${chain} meta l4proto tcp dnat ip to ${gateway}:${EGRESS_PORTS.raw}`)
      : "";
    return `add chain ${table} ${divert}
${answered}${proxied}${chain.endsWith(EDGE) ? rule(`ip daddr @${chain} ${toTls}`) + kept : ""}${rule(`ip daddr @${chain} return`)}${
  isNamed(chain) ? rule(toHttp) + rule(toTls) : ""
}add element ${table} diverted { ${formatAddress(address)} : goto ${divert} }
`;
  }

  private listText(chain: string, address: Address, elements: string): string {
    const table = `inet ${this.options.plan.listTable}`;
    const divert = isDiverted(chain) ? this.divertText(chain, address) : "";
    // A sandbox that reaches hosts by name alone has no addresses.
    const filled = elements === "" ? "" : `add element ${table} ${chain} { ${elements} }\n`;
    // Without the mark nothing leaves but what is led to the egress proxy.
    const mark = isProxied(chain) ? "" : `add rule ${table} ${chain} ip daddr @${chain} meta mark set ${PERMITTED_MARK}\n`;
    return `add set ${table} ${chain} { type ipv4_addr; flags interval; }
${filled}${divert}add chain ${table} ${chain}
${mark}add element ${table} lists { ${formatAddress(address)} : goto ${chain} }
`;
  }
}

/** The maps from the addresses of sandboxes to the chains of their lists. */
const mapText = (table: string) => `add map ${table} lists { type ipv4_addr : verdict; }
add map ${table} diverted { type ipv4_addr : verdict; }
`;

const isNamed = (chain: string) => chain.includes(NAMED);
const isProxied = (chain: string) => chain.endsWith(PROXIED);
const isDiverted = (chain: string) => isNamed(chain) || chain.endsWith(EDGE) || isProxied(chain);
/** The chain that leads connections of the sandbox with this list to the egress proxy. */
const divertOf = (chain: string) => `divert_${chain}`;

function formatRange({ first, last }: AddressRange): string {
  return first === last ? formatAddress(first) : `${formatAddress(first)}-${formatAddress(last)}`;
}
