import { AppError, type Clock, type SandboxId } from "@boxyard/core";
import type { EgressPolicy, TakenAttempts } from "@boxyard/driver";
import type { NetworkLease, NetworkTraffic, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import type { AddressPool } from "./address-pool.ts";
import { type Address, formatAddress, parseAddress } from "./addresses.ts";
import { type AttachedProcess, attachedProcess, holdersOf } from "./attached-process.ts";
import { poolWithCursor } from "./cursor.ts";
import { type DnsClient, Forwarder } from "./dns/forwarder.ts";
import type { ResolvConf } from "./dns/resolv-conf.ts";
import { Resolver } from "./dns/resolver.ts";
import type { EdgeAuthority } from "./edge-authority/authority.ts";
import { EgressProxy } from "./egress-proxy/egress-proxy.ts";
import { HostPolicies } from "./egress-proxy/host-policies.ts";
import type { Forwarding } from "./forwarding.ts";
import { Lists } from "./lists.ts";
import { type MachineFacts, readMachine } from "./machine.ts";
import { deleteLinkRoute, findLink, listLinks, newLinkRoute, setLinkGroup } from "./netlink/route.ts";
import type { NetworksConfig } from "./networks-config.ts";
import { addressOfLink, EGRESS_PORTS, GROUP, groupFor, isListed, leaseIndex, leaseLink, type Plan } from "./plan.ts";
import { plug } from "./plug.ts";
import { NetworkRecord } from "./record/network-record.ts";
import { releaseNetwork } from "./release.ts";
import { resolvedBy } from "./resolved-names.ts";
import { closeKernel, ensureRules, ensureUplink, type Kernel } from "./router.ts";
import { Unplugged } from "./unplugged.ts";

/** Pause between two checks of the machine's network; longer where a check takes long (a machine with very many routes). */
const WATCH_MS = 5000;
/** The pause is at least so many times the duration of the last check. */
const WATCH_SHARE = 200;

interface Held {
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
  /** Undefined for adopted leases. */
  readonly process: AttachedProcess | undefined;
  readonly client: DnsClient;
}

/** What `openNetwork` has found and made. */
export interface NetworkParts {
  readonly config: NetworksConfig;
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly forwarding: Forwarding;
  readonly facts: MachineFacts;
  readonly resolvConf: ResolvConf;
  readonly authority: EdgeAuthority;
}

/** The leases of sandboxes, and the links, rules and names behind them, from `open` to `close`. */
export class Networks implements SandboxNetworks {
  readonly dnsAddress: string;
  private readonly parts: NetworkParts;
  private readonly pool: AddressPool;
  private readonly forwarder: Forwarder;
  private readonly unplugged: Unplugged;
  private readonly lists: Lists;
  private readonly hosts: HostPolicies;
  private readonly record: NetworkRecord;
  private readonly held = new Map<string, Held>();
  /** Addresses of links found at opening that nobody has adopted. */
  private readonly unclaimed = new Set<Address>();
  private mtu: number;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watching: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(parts: NetworkParts) {
    const { plan, kernel, clock, config, resolvConf } = parts;
    this.parts = parts;
    this.dnsAddress = formatAddress(plan.gateway);
    this.mtu = parts.facts.mtu;
    this.pool = poolWithCursor(plan, clock, `${config.stateDirectory}/next-address`);
    this.unplugged = new Unplugged({
      plan,
      netlink: kernel.router,
      clock,
      logger: config.logger,
      onGone: (address) => this.pool.release(address),
    });
    this.lists = new Lists({ plan, netlink: kernel.routerFilter });
    const sandboxAt = (address: string) => this.held.get(address)?.sandboxId;
    this.record = new NetworkRecord({ netlink: kernel.routerPackets, sandboxAt, clock, logger: config.logger });
    const inNamespace = <T>(work: () => T) => inNetworkNamespace(kernel.namespace, work);
    const { logger, trust, recordings, diskReserve } = config;
    const kept = { recordings, diskReserve };
    const serving = { address: this.dnsAddress, ports: EGRESS_PORTS, inNamespace, authority: parts.authority, trust, ...kept };
    this.hosts = new HostPolicies(new EgressProxy({ ...serving, reports: this.record, clock, logger }), logger);
    // The proxy asks under the gateway's own address, which no sandbox can use.
    const proxy: DnsClient = { address: this.dnsAddress, resolves: () => true };
    this.forwarder = new Forwarder({
      address: this.dnsAddress,
      inNamespace,
      clientOf: (address) => (address === proxy.address ? proxy : this.held.get(address)?.client),
      onQuestion: this.record.onQuestion,
      resolver: new Resolver({ servers: () => resolvConf.current(), clock }),
      clock,
      logger: config.logger,
    });
  }

  async open(): Promise<void> {
    for (const link of listLinks(this.parts.kernel.router)) {
      const address = addressOfLink(link.name);
      if (address !== undefined && this.pool.reserve(address)) this.unclaimed.add(address);
    }
    this.lists.open();
    this.record.open();
    await this.mendLists();
    await this.forwarder.open();
    this.scheduleWatch(0);
  }

  allocate(sandboxId: SandboxId, incarnation: number, egress?: EgressPolicy): NetworkLease {
    const address = this.pool.take();
    const text = formatAddress(address);
    if (egress) this.hosts.expect(text, egress);
    this.hold(text, { sandboxId, incarnation }, GROUP.offline);
    return { sandboxId, incarnation, address: text, gateway: this.dnsAddress, prefixLength: 32, link: leaseLink(address) };
  }

  adopt(leases: readonly NetworkLease[], egressOf: (lease: NetworkLease) => EgressPolicy | undefined = () => undefined): void {
    for (const lease of leases) {
      const address = parseAddress(lease.address);
      const held = this.held.get(lease.address);
      if (held?.sandboxId === lease.sandboxId && held.incarnation === lease.incarnation) continue;
      if (address === undefined || !this.pool.reserve(address)) {
        // The range was changed while the sandbox ran. Its link is useless now, but its record must not stop the server.
        this.parts.config.logger.warn({ sandboxId: lease.sandboxId, address: lease.address }, "a sandbox's address is outside the range");
        continue;
      }
      this.unclaimed.delete(address);
      const link = findLink(this.parts.kernel.router, leaseIndex(this.parts.plan, address));
      const egress = egressOf(lease);
      this.hold(lease.address, lease, link?.group, undefined, egress);
      if (egress) this.hosts.adopt(lease.address, egress);
    }
  }

  async attach(lease: NetworkLease, netnsPid: number, egress: EgressPolicy): Promise<void> {
    const address = this.addressOf(lease);
    const { kernel, plan } = this.parts;
    this.pool.reserve(address);
    this.hold(lease.address, lease, groupFor(egress), attachedProcess(netnsPid), egress);
    await this.permit(address, egress);
    plug(kernel, plan, { address, pid: netnsPid, mtu: this.mtu, egress });
  }

  async change(lease: NetworkLease, egress: EgressPolicy): Promise<void> {
    const address = this.addressOf(lease);
    const group = groupFor(egress);
    await this.permit(address, egress);
    // One message, and the rules see every packet's link in its new group: connections that are open are refused from the next packet on.
    this.parts.kernel.router.request(setLinkGroup(leaseIndex(this.parts.plan, address), group));
    const held = this.held.get(lease.address);
    if (held) Object.assign(held.client, resolvedBy(group, egress));
    if (!isListed(group)) await this.lists.drop(address);
  }

  traffic(lease: NetworkLease): NetworkTraffic {
    const address = this.heldAddress(lease);
    const link = address === undefined ? undefined : findLink(this.parts.kernel.router, leaseIndex(this.parts.plan, address));
    return { receivedBytes: link?.sentBytes ?? 0, sentBytes: link?.receivedBytes ?? 0 }; // Seen from the router.
  }

  takeAttempts(): TakenAttempts {
    return this.record.take();
  }

  disconnect(lease: NetworkLease): void {
    const address = this.addressOf(lease);
    const { kernel, plan } = this.parts;
    // The router's rules drop what links of this group send; without the route nothing is sent to the sandbox.
    kernel.router.request(deleteLinkRoute(address), setLinkGroup(leaseIndex(plan, address), GROUP.frozen));
  }

  renew(lease: NetworkLease, incarnation: number): NetworkLease {
    this.addressOf(lease);
    const renewed = { ...lease, incarnation };
    this.hold(lease.address, renewed, GROUP.offline, this.held.get(lease.address)?.process);
    return renewed;
  }

  async reconnect(lease: NetworkLease, egress: EgressPolicy): Promise<void> {
    const address = this.addressOf(lease);
    const { kernel, plan } = this.parts;
    const index = leaseIndex(plan, address);
    const group = groupFor(egress);
    await this.permit(address, egress);
    this.hold(lease.address, lease, group, this.held.get(lease.address)?.process, egress);
    kernel.router.request(newLinkRoute(address, index), setLinkGroup(index, group));
  }

  async detach(lease: NetworkLease): Promise<void> {
    const address = parseAddress(lease.address);
    if (address === undefined || !this.pool.covers(address)) return;
    const held = this.held.get(lease.address);
    // This lease was released long ago, and the address now belongs to another lease.
    if (held && (held.sandboxId !== lease.sandboxId || held.incarnation !== lease.incarnation)) return;
    this.held.delete(lease.address);
    this.unclaimed.delete(address);
    await this.unplugged.unplug(address, holdersOf(held?.process));
    await this.lists.drop(address);
    await this.hosts.drop(lease.address);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.timer);
    // A check that is under way may be writing rules: it must not write them after a release has removed them.
    await this.watching;
    await this.hosts.close();
    this.forwarder.close();
    this.unplugged.close();
    closeKernel(this.parts.kernel);
  }

  async release(): Promise<void> {
    await this.close();
    const { instance, network, runDirectory, logger } = this.parts.config;
    await releaseNetwork({ instance, network, logger, ...(runDirectory ? { runDirectory } : {}) });
  }

  /** Undefined for a lease that is unknown, or was released. */
  private heldAddress(lease: NetworkLease): Address | undefined {
    const held = this.held.get(lease.address);
    const isOurs = held?.sandboxId === lease.sandboxId && held.incarnation === lease.incarnation;
    return isOurs ? parseAddress(lease.address) : undefined;
  }

  private addressOf(lease: NetworkLease): Address {
    const address = this.heldAddress(lease);
    if (address === undefined) {
      throw new AppError("failed_precondition", `The lease of ${lease.address} is unknown, or was released`, {
        reason: "unknown_lease",
      });
    }
    return address;
  }

  /** Puts in force what a sandbox may reach by its list and by name, before its link is in the group of the policy. */
  private async permit(address: Address, egress: EgressPolicy): Promise<void> {
    await this.lists.put(address, egress);
    await this.hosts.put(formatAddress(address), egress);
  }

  private hold(
    address: string,
    of: Pick<Held, "sandboxId" | "incarnation">,
    group: number | undefined,
    process?: Held["process"],
    egress?: EgressPolicy,
  ): void {
    const client = { address, ...resolvedBy(group, egress) };
    this.held.set(address, { sandboxId: of.sandboxId, incarnation: of.incarnation, process, client });
  }

  private mendLists(): Promise<void> {
    return this.lists.mend((address) => this.unclaimed.has(address) || this.held.has(formatAddress(address)));
  }

  /** Every few seconds: restores links and rules that other programs removed, and follows changes of the machine's own network. */
  private scheduleWatch(lastTookMs: number): void {
    if (this.closed) return;
    const look = () => {
      this.watching = this.watch();
    };
    this.timer = setTimeout(look, Math.max(WATCH_MS, lastTookMs * WATCH_SHARE));
    this.timer.unref();
  }

  private async watch(): Promise<void> {
    const startedAt = this.parts.clock.monotonic();
    try {
      await this.mend();
    } catch (error) {
      if (!this.closed) this.parts.config.logger.error({ err: error }, "the network can't be checked and repaired");
    }
    this.scheduleWatch(this.parts.clock.monotonic() - startedAt);
  }

  private async mend(): Promise<void> {
    const { kernel, plan, forwarding, config } = this.parts;
    const facts = readMachine(kernel.machine, plan.hostGroup, config.mostTracked);
    this.mtu = facts.mtu;
    ensureUplink(kernel, plan, facts.mtu);
    for (const address of this.unclaimed) {
      if (findLink(kernel.router, leaseIndex(plan, address))) continue;
      this.unclaimed.delete(address);
      this.pool.release(address);
    }
    await ensureRules(kernel, plan, forwarding, facts, config.shares);
    await this.mendLists();
    await this.forwarder.mend();
  }
}
