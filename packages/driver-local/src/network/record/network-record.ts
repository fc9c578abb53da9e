import type { Clock, SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { TakenAttempts } from "@boxyard/driver";
import { addressesOfAnswer } from "../dns/addresses-of-answer.ts";
import type { ConnectionReport, ProxyReports, ReplayMiss } from "../egress-proxy/reports.ts";
import type { NetlinkSocket } from "../netlink/socket.ts";
import { Attempts } from "./attempts.ts";
import { readPackets, receivePackets } from "./packets.ts";

export interface NetworkRecordOptions {
  /** A netfilter socket in the router's namespace that nothing else uses. */
  readonly netlink: NetlinkSocket;
  /** The sandbox with this address. */
  readonly sandboxAt: (address: string) => SandboxId | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MAX_NAME = 255;
/** Recordings that stopped, until they are taken. */
const MAX_STOPPED = 1000;

/** What sandboxes try to reach: packets that the router's rules report, questions to the name server, and connections through the egress proxy. */
export class NetworkRecord implements ProxyReports {
  private readonly options: NetworkRecordOptions;
  private readonly attempts: Attempts;
  private stopped = new Map<string, string>();
  private hasPackets = false;

  constructor(options: NetworkRecordOptions) {
    this.options = options;
    this.attempts = new Attempts(options.clock);
  }

  open(): void {
    try {
      receivePackets(this.options.netlink);
      this.hasPackets = true;
    } catch (error) {
      this.options.logger.warn({ err: error }, "the kernel does not report packets; the record of networks has names alone");
    }
  }

  /** `answer` undefined: the sandbox may not ask for this name. */
  readonly onQuestion = ({ address }: { readonly address: string }, asked: string, answer: Uint8Array | undefined): void => {
    const sandboxId = this.options.sandboxAt(address);
    if (sandboxId === undefined) return;
    const isAllowed = answer !== undefined;
    const answers = answer ? addressesOfAnswer(answer) : [];
    const name = asked.toLowerCase().slice(0, MAX_NAME);
    this.attempts.note({ sandboxId, protocol: "dns", isAllowed, rule: isAllowed ? "allowed" : "names", name, answers });
  };

  readonly onMiss = ({ address, method, url, isPassed, isIncomplete }: ReplayMiss): void => {
    const sandboxId = this.options.sandboxAt(address);
    if (sandboxId === undefined) return;
    const name = URL.parse(url)?.hostname.slice(0, MAX_NAME);
    const rule = isIncomplete ? "incompleteReplay" : "replay";
    const request = `${method} ${url}`;
    this.attempts.note({ sandboxId, protocol: "http", isAllowed: isPassed, rule, request, ...(name && { name }) });
  };

  readonly onConnection = ({ address: from, server: address, isAllowed, name, ...facts }: ConnectionReport): void => {
    const sandboxId = this.options.sandboxAt(from);
    if (sandboxId === undefined) return;
    const denied = name === undefined ? "lists" : "names";
    const goal = { ...(name !== undefined && { name }), ...(address !== undefined && { address }) };
    this.attempts.note({ sandboxId, protocol: "tcp", isAllowed, rule: isAllowed ? "allowed" : denied, ...goal, ...facts });
  };

  readonly onStopped = (id: string, reason: string): void => {
    if (this.stopped.size < MAX_STOPPED) this.stopped.set(id, reason);
  };

  take(): TakenAttempts {
    if (this.hasPackets) {
      for (const { from, ...packet } of readPackets(this.options.netlink)) {
        const sandboxId = this.options.sandboxAt(from);
        if (sandboxId !== undefined) this.attempts.note({ sandboxId, ...packet });
      }
    }
    const { stopped } = this;
    this.stopped = new Map();
    return { ...this.attempts.take(), ...(stopped.size > 0 && { stopped }) };
  }
}
