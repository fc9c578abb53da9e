import { chmodSync, readlinkSync } from "node:fs";
import { AppError, type Clock, type SandboxId, systemClock, wrapError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { EgressPolicy } from "@boxyard/driver";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { hasErrno, inNetworkNamespace } from "../sys/libc.ts";
import { AddressPool } from "./address-pool.ts";
import { type Address, formatAddress, parseAddress } from "./addresses.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type Asker, Forwarder } from "./dns/forwarder.ts";
import { ResolvConf } from "./dns/resolv-conf.ts";
import { Resolver } from "./dns/resolver.ts";
import { Forwarding } from "./forwarding.ts";
import { Lists } from "./lists.ts";
import { assertNoOverlap, type MachineFacts, readMachine } from "./machine.ts";
import { deleteLinkRoute, findLink, listAddresses, listLinks, newLinkRoute, setLinkGroup } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { addressOfLink, GROUP, groupFor, isListed, leaseIndex, leaseLink, makePlan, type Plan, resolvesNames } from "./plan.ts";
import { plug } from "./plug.ts";
import { releaseNetwork } from "./release.ts";
import { closeKernel, ensureRules, ensureUplink, type Kernel, openKernel } from "./router.ts";
import { RUN_DIRECTORY } from "./run-directory.ts";
import { type Holders, Unplugged } from "./unplugged.ts";

export interface NetworksConfig {
  /** 8 hex digits, from instance.json. */
  readonly instance: string;
  /** The sandboxes' range, `10.208.0.0/16`, from instance.json; prefix /12 to /24. */
  readonly network: string;
  /** A directory of ours in the data directory, made if missing: where the next address is noted. */
  readonly stateDirectory: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Machine-wide runtime directory; `/run/boxyard`. */
  readonly runDirectory?: string;
  /** `/etc/resolv.conf`. */
  readonly resolvConf?: string;
  /** Connections that the machine can track; by default what its kernel says. */
  readonly mostTracked?: number;
}

const RESOLV_CONF = "/etc/resolv.conf";
/** A freed address is left alone for so long: most late packets and half-open connections are done by then. */
const QUARANTINE_MS = 60_000;
/** Pause between two looks at the machine; longer when a look takes long (a machine with very many routes). */
const WATCH_MS = 5000;
const WATCH_SHARE = 200;

interface Held {
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
  /** What /proc/<pid>/ns/net said at attach; undefined for adopted leases. */
  readonly process: { readonly pid: number; readonly namespace: string } | undefined;
  readonly asker: Asker;
}

/**
 * Opens the network of the sandboxes: router namespace, link, rules and name server, made where missing and left alone where they are as
 * they should be (then it takes a few ms and starts no process). Sandboxes of an earlier process go on undisturbed; `adopt` names them.
 *
 * Errors: `failed_precondition` with reason `network_overlap` (the range is in use on the machine), `tool_missing` (no nftables) or
 * `already_open` (another server has this instance's network).
 */
export async function openNetwork(config: NetworksConfig): Promise<SandboxNetworks> {
  const clock = config.clock ?? systemClock;
  const runDirectory = config.runDirectory ?? RUN_DIRECTORY;
  const plan = makePlan({ instance: config.instance, network: config.network, runDirectory });
  const resolvConf = new ResolvConf(config.resolvConf ?? RESOLV_CONF, () => clock.monotonic());
  const found = checkRange(plan, resolvConf.current(), config.logger);
  // The range was changed: nothing of the old one may stay beside the new.
  if (found === "other_range")
    await releaseNetwork({ instance: config.instance, network: config.network, logger: config.logger, runDirectory });
  const kernel = openKernel(plan);
  // An earlier version let the machine's users read it.
  chmodSync(runDirectory, 0o700);
  try {
    const facts = factsFor(config, kernel, plan);
    ensureUplink(kernel, plan, facts.mtu);
    const forwarding = new Forwarding(runDirectory);
    await ensureRules(kernel, plan, forwarding, facts);
    const networks = new Networks({ config, plan, kernel, clock, forwarding, facts, resolvConf });
    await networks.open();
    return networks;
  } catch (error) {
    closeKernel(kernel);
    if (hasErrno(error, "EADDRINUSE")) {
      const message = `Another Boxyard server runs on this data directory: ${formatAddress(plan.gateway)}:53 of its network is taken`;
      throw new AppError("failed_precondition", message, { reason: "already_open", cause: error });
    }
    throw wrapError("open the network of the sandboxes", error);
  }
}

/** An overlap stops the first opening; later ones only warn, for there may be sandboxes that must not be lost to a new VPN. */
function checkRange(plan: Plan, nameServers: readonly string[], logger: Logger): "new" | "there" | "other_range" {
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  const link = findLink(netlink, plan.hostLink);
  const isOurs = listAddresses(netlink).every((entry) => entry.index !== link?.index || entry.address === plan.hostAddress);
  const found = !link ? "new" : isOurs ? "there" : "other_range";
  try {
    assertNoOverlap(netlink, plan.network, plan.hostLink, nameServers);
    return found;
  } catch (error) {
    if (found !== "there") throw error;
    logger.warn({ err: error }, "the sandboxes' network overlaps another");
    return found;
  } finally {
    netlink.close();
  }
}

interface Parts {
  readonly config: NetworksConfig;
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly forwarding: Forwarding;
  readonly facts: MachineFacts;
  readonly resolvConf: ResolvConf;
}

class Networks implements SandboxNetworks {
  readonly dnsAddress: string;
  private readonly parts: Parts;
  private readonly pool: AddressPool;
  private readonly forwarder: Forwarder;
  private readonly unplugged: Unplugged;
  private readonly lists: Lists;
  private readonly held = new Map<string, Held>();
  /** Addresses of links found at opening that nobody has adopted. */
  private readonly unclaimed = new Set<Address>();
  private mtu: number;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watching: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(parts: Parts) {
    const { plan, kernel, clock, config, resolvConf } = parts;
    this.parts = parts;
    this.dnsAddress = formatAddress(plan.gateway);
    this.mtu = parts.facts.mtu;
    const cursorFile = `${config.stateDirectory}/next-address`;
    this.pool = new AddressPool({
      first: plan.firstLease,
      last: plan.lastLease,
      quarantineMs: QUARANTINE_MS,
      clock,
      cursor: readCursor(cursorFile),
      saveCursor: (offset) => writeCursor(cursorFile, offset),
    });
    this.unplugged = new Unplugged({
      plan,
      netlink: kernel.router,
      clock,
      logger: config.logger,
      onGone: (address) => this.pool.release(address),
    });
    this.lists = new Lists({ plan, netlink: kernel.routerFilter });
    this.forwarder = new Forwarder({
      address: this.dnsAddress,
      inNamespace: (work) => inNetworkNamespace(kernel.namespace, work),
      askerOf: (address) => this.held.get(address)?.asker,
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
    await this.mendLists();
    await this.forwarder.open();
    this.scheduleWatch(0);
  }

  allocate(sandboxId: SandboxId, incarnation: number): NetworkLease {
    const address = this.pool.take();
    const text = formatAddress(address);
    this.hold(text, { sandboxId, incarnation }, GROUP.offline);
    return { sandboxId, incarnation, address: text, gateway: this.dnsAddress, prefixLength: 32, link: leaseLink(address) };
  }

  adopt(leases: readonly NetworkLease[]): void {
    for (const lease of leases) {
      const address = parseAddress(lease.address);
      const held = this.held.get(lease.address);
      if (held?.sandboxId === lease.sandboxId && held.incarnation === lease.incarnation) continue;
      if (address === undefined || !this.pool.reserve(address)) {
        // The range was changed while the sandbox lived. Its link is of no use any more, but its record must not stop the server.
        this.parts.config.logger.warn({ sandboxId: lease.sandboxId, address: lease.address }, "a sandbox's address is outside the range");
        continue;
      }
      this.unclaimed.delete(address);
      const link = findLink(this.parts.kernel.router, leaseIndex(this.parts.plan, address));
      this.hold(lease.address, lease, link?.group);
    }
  }

  async attach(lease: NetworkLease, netnsPid: number, egress: EgressPolicy): Promise<void> {
    const address = this.addressOf(lease);
    const { kernel, plan } = this.parts;
    const process = { pid: netnsPid, namespace: namespaceOf(netnsPid) ?? "" };
    this.pool.reserve(address);
    this.hold(lease.address, lease, groupFor(egress), process);
    await this.lists.put(address, egress);
    plug(kernel, plan, { address, pid: netnsPid, mtu: this.mtu, egress });
  }

  async change(lease: NetworkLease, egress: EgressPolicy): Promise<void> {
    const address = this.addressOf(lease);
    const group = groupFor(egress);
    await this.lists.put(address, egress);
    // One message, and the rules see every packet's link in its new group: connections that are open are refused from the next packet on.
    this.parts.kernel.router.request(setLinkGroup(leaseIndex(this.parts.plan, address), group));
    const held = this.held.get(lease.address);
    if (held) held.asker.resolves = resolvesNames(group);
    if (!isListed(group)) await this.lists.drop(address);
  }

  disconnect(lease: NetworkLease): void {
    const address = this.addressOf(lease);
    const { kernel, plan } = this.parts;
    // Unknown groups may send nothing; without the route nothing is sent there.
    kernel.router.request(deleteLinkRoute(address), setLinkGroup(leaseIndex(plan, address), GROUP.standing));
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
    await this.lists.put(address, egress);
    this.hold(lease.address, lease, group, this.held.get(lease.address)?.process);
    kernel.router.request(newLinkRoute(address, index), setLinkGroup(index, group));
  }

  async detach(lease: NetworkLease): Promise<void> {
    const address = parseAddress(lease.address);
    if (address === undefined || !this.pool.covers(address)) return;
    const held = this.held.get(lease.address);
    // The address belongs to somebody else by now: this lease was taken away long ago.
    if (held && (held.sandboxId !== lease.sandboxId || held.incarnation !== lease.incarnation)) return;
    this.held.delete(lease.address);
    this.unclaimed.delete(address);
    await this.unplugged.unplug(address, holdersOf(held?.process));
    await this.lists.drop(address);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.timer);
    // A look at the machine that is under way may be writing rules: they must not come after a release has taken them away.
    await this.watching;
    this.forwarder.close();
    this.unplugged.close();
    closeKernel(this.parts.kernel);
  }

  async release(): Promise<void> {
    await this.close();
    const { instance, network, runDirectory, logger } = this.parts.config;
    await releaseNetwork({ instance, network, logger, ...(runDirectory ? { runDirectory } : {}) });
  }

  private addressOf(lease: NetworkLease): Address {
    const address = parseAddress(lease.address);
    const held = this.held.get(lease.address);
    const isOurs = held?.sandboxId === lease.sandboxId && held.incarnation === lease.incarnation;
    if (address === undefined || !isOurs) {
      throw new AppError("failed_precondition", `The lease of ${lease.address} is not of ours, or was taken away`, {
        reason: "unknown_lease",
      });
    }
    return address;
  }

  private hold(address: string, of: Pick<Held, "sandboxId" | "incarnation">, group: number | undefined, process?: Held["process"]): void {
    const asker = { address, resolves: resolvesNames(group) };
    this.held.set(address, { sandboxId: of.sandboxId, incarnation: of.incarnation, process, asker });
  }

  private mendLists(): Promise<void> {
    return this.lists.mend((address) => this.unclaimed.has(address) || this.held.has(formatAddress(address)));
  }

  /** Every few seconds: what others undid on the machine is put right, and what they changed is taken over. */
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
      if (!this.closed) this.parts.config.logger.error({ err: error }, "the network can't be looked after");
    }
    this.scheduleWatch(this.parts.clock.monotonic() - startedAt);
  }

  private async mend(): Promise<void> {
    const { kernel, plan, forwarding } = this.parts;
    const facts = factsFor(this.parts.config, kernel, plan);
    this.mtu = facts.mtu;
    ensureUplink(kernel, plan, facts.mtu);
    for (const address of this.unclaimed) {
      if (findLink(kernel.router, leaseIndex(plan, address))) continue;
      this.unclaimed.delete(address);
      this.pool.release(address);
    }
    await ensureRules(kernel, plan, forwarding, facts);
    await this.mendLists();
    await this.forwarder.mend();
  }
}

function factsFor({ mostTracked }: NetworksConfig, kernel: Kernel, plan: Plan): MachineFacts {
  const facts = readMachine(kernel.machine, plan.hostGroup);
  return { ...facts, mostTracked: mostTracked ?? facts.mostTracked };
}

function holdersOf(process: Held["process"]): Holders {
  if (!process) return "unknown";
  return namespaceOf(process.pid) === process.namespace ? "running" : "ended";
}

/** What names the network namespace of a process; undefined when it has none any more (it has ended). */
function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}
