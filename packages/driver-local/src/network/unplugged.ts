import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { Address } from "./addresses.ts";
import { deleteLinkGroup, deleteLinkRoute, findLink, setLinkGroup } from "./netlink/route.ts";
import type { NetlinkSocket } from "./netlink/socket.ts";
import { GROUP, leaseIndex, leaseLink, type Plan } from "./plan.ts";

/** Pauses between two checks whether unplugged links are gone, in milliseconds; the last one repeats. */
const LOOK_MS = [2, 4, 8, 15, 25, 50, 100] as const;
/**
 * A link that still exists after so long has a namespace that something keeps alive: mostly connections whose last bytes are never
 * acknowledged, for minutes. We delete such a link. On a busy machine the kernel may only be late; then only the time of a deletion is lost.
 */
const OVERDUE_MS = 300;

/** What is known of the processes behind a link: they run, they have ended, or nothing (an earlier server plugged them in). */
export type Holders = "running" | "ended" | "unknown";

export interface UnpluggedOptions {
  readonly plan: Plan;
  readonly netlink: NetlinkSocket;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once a link is gone for good. */
  readonly onGone: (address: Address) => void;
}

/**
 * Links of ended sandboxes. A request that deletes a link blocks for 15 to 24 ms, and the server with it. But the kernel deletes the link by
 * itself, in the background, when the sandbox's namespace ends with its last process. So we poll until the link is gone, and delete the
 * overdue ones together. Where processes may still run, the route is removed first, which cuts them off at once (0.1 ms). Where none run the
 * route stays: the packets by which the kernel closes their connections need answers, and until then the connections keep the namespace.
 */
export class Unplugged {
  private readonly options: UnpluggedOptions;
  private readonly waiting = new Map<Address, { since: number; promise: Promise<void>; resolve: () => void }>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private looks = 0;

  constructor(options: UnpluggedOptions) {
    this.options = options;
  }

  /** Cuts the sandbox of a lease off at once, and resolves when its link is gone. Fine when there is none. */
  unplug(address: Address, holders: Holders): Promise<void> {
    const { netlink, clock } = this.options;
    if (holders !== "ended") this.cutOff(address);
    if (holders === "running") netlink.request(deleteLinkGroup(GROUP.doomed));
    const before = this.waiting.get(address);
    if (before) return before.promise;
    if (!this.isThere(address)) {
      this.options.onGone(address);
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting.set(address, { since: clock.monotonic(), promise, resolve });
    this.looks = 0;
    this.schedule();
    return promise;
  }

  /** Stops looking and releases all waiters. */
  close(): void {
    clearTimeout(this.timer);
    for (const { resolve } of this.waiting.values()) resolve();
    this.waiting.clear();
  }

  private cutOff(address: Address): void {
    const { plan, netlink } = this.options;
    netlink.request(deleteLinkRoute(address), setLinkGroup(leaseIndex(plan, address), GROUP.doomed));
  }

  private isThere(address: Address): boolean {
    const link = findLink(this.options.netlink, leaseIndex(this.options.plan, address));
    return link?.name === leaseLink(address);
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.waiting.size === 0) return;
    const pause = LOOK_MS[Math.min(this.looks++, LOOK_MS.length - 1)];
    this.timer = setTimeout(() => this.look(), pause);
  }

  private look(): void {
    try {
      this.deleteOverdue();
      for (const [address, { resolve }] of this.waiting) {
        if (this.isThere(address)) continue;
        this.waiting.delete(address);
        this.options.onGone(address);
        resolve();
      }
    } catch (error) {
      this.options.logger.error({ err: error }, "the links of ended sandboxes can't be checked");
    }
    this.schedule();
  }

  private deleteOverdue(): void {
    const now = this.options.clock.monotonic();
    const overdue = [...this.waiting].filter(([, { since }]) => now - since > OVERDUE_MS);
    if (overdue.length === 0) return;
    const links = overdue.slice(0, 5).map(([address]) => leaseLink(address));
    this.options.logger.debug({ links, count: overdue.length }, "deleting links that outlive their sandboxes");
    for (const [address, entry] of overdue) {
      entry.since = now;
      if (this.isThere(address)) this.cutOff(address);
    }
    this.options.netlink.request(deleteLinkGroup(GROUP.doomed));
  }
}
