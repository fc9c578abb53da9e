import { AppError, type Clock, SerialQueue } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { type HostPolicy, isOpenedFor } from "@boxyard/driver";
import type { EdgeAuthority } from "../edge-authority/authority.ts";
import type { Identity } from "../edge-authority/certificates.ts";
import { type ProxyChild, startProxy } from "./child.ts";
import { egressProxyCommand } from "./program.ts";
import type { ProxyReports } from "./reports.ts";
import { SigningShares } from "./signing-shares.ts";

export interface EgressProxyOptions {
  /** The gateway of the sandboxes, where the proxy listens and where its name server is. */
  readonly address: string;
  readonly ports: { readonly http: number; readonly tls: number; readonly raw: number };
  /** Runs `work` (synchronously) in the router's network namespace, to which a process that it starts belongs. */
  readonly inNamespace: <T>(work: () => T) => T;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Signs the certificates of hosts for which the proxy opens TLS. */
  readonly authority: EdgeAuthority;
  /** Authorities by which the proxy verifies these hosts, in PEM form; undefined: those that Bun brings. */
  readonly trust?: (() => string | undefined) | undefined;
  /** Where recordings are, if there are any. */
  readonly recordings?: string | undefined;
  /** Free bytes that the operator wants of the disk of the recordings; those of its size by default. */
  readonly diskReserve?: number | undefined;
  readonly reports: ProxyReports;
  /** The command of the process, by its configuration; for tests. */
  readonly command?: (config: string) => readonly string[];
}

/** Rules that a process was told; `done` resolves when they are in force. */
interface Told {
  readonly done: Promise<void>;
}

/** The user that owns nothing. */
const NOBODY = 65_534;
/** Wait before a proxy that ended by itself is started again: longer with each end in a row. */
const AGAIN_MS = { first: 100, most: 10_000 } as const;

/**
 * The process that lets sandboxes reach hosts by name. It is started for the first sandbox that has names among its rules, and ends with the server. While
 * there is none, connections to it are refused, so nothing is open by mistake.
 */
export class EgressProxy {
  private readonly options: EgressProxyOptions;
  /** The rules in force, by the address of the sandbox. A proxy that is started anew gets all of them. */
  private readonly rules = new Map<string, HostPolicy>();
  private readonly shares: SigningShares;
  private readonly queue = new SerialQueue();
  private child: ProxyChild | undefined;
  private ends = 0;
  private closed = false;

  constructor(options: EgressProxyOptions) {
    this.options = options;
    this.shares = new SigningShares(() => options.clock.monotonic());
  }

  /**
   * Puts the rules of a sandbox in force: when this resolves, open connections that they do not allow are cut. Without a policy the sandbox has none.
   * Throws `unavailable`, reason `egress_proxy`, when the proxy cannot be started or does not answer; nothing is open by name then.
   */
  async set(address: string, policy: HostPolicy | undefined): Promise<void> {
    if (!policy && !this.rules.has(address)) return;
    if (policy) this.rules.set(address, policy);
    else {
      this.rules.delete(address);
      this.shares.forget(address);
    }
    // The queue is for starts alone: a change whose recording takes long to be read through holds up no other sandbox's.
    const told = await this.queue.run(async () => {
      // A proxy that is started has all rules. Where no sandbox has any, none is needed.
      if (!this.child?.isAlive) return this.rules.size > 0 ? (await this.start()).get(address) : undefined;
      return this.tell(this.child, address);
    });
    await told?.done;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    this.closed = true;
    await this.queue.run(async () => this.child?.end());
  }

  /** Returns when all rules are told; what becomes of each is in the result. */
  private async start(): Promise<Map<string, Told>> {
    const told = new Map<string, Told>();
    if (this.closed) return told;
    const {
      address,
      ports,
      inNamespace,
      clock,
      trust,
      reports,
      recordings: directory,
      diskReserve,
      command = egressProxyCommand,
    } = this.options;
    const config = {
      address,
      httpPort: ports.http,
      tlsPort: ports.tls,
      rawPort: ports.raw,
      nameServer: address,
      user: NOBODY,
      diskReserve,
    };
    const onEnd = (how: string) => this.onEnd(child, how);
    const certificateFor = (host: string) => this.certificateFor(host);
    const child = inNamespace(() => startProxy(command(JSON.stringify(config)), { clock, onEnd, certificateFor, reports, directory }));
    this.child = child;
    await child.ready.catch((cause) => this.fail(child, cause));
    child.trust(trust?.());
    for (const sandbox of this.rules.keys()) told.set(sandbox, this.tell(child, sandbox));
    void Promise.all([...told.values()].map(({ done }) => done)).then(
      () => {
        this.ends = 0;
      },
      () => {},
    );
    return told;
  }

  /** Tells a process the rules of a sandbox as they are now. Messages arrive in order, so the last one told is in force. */
  private tell(child: ProxyChild, address: string): Told {
    const done = child.set(address, this.rules.get(address)).catch((cause) => this.fail(child, cause));
    done.catch(() => {});
    return { done };
  }

  /** Only for hosts for which a sandbox has rules: the proxy parses what sandboxes send, and must not be able to stand for any other server. */
  private async certificateFor(host: string): Promise<Identity | undefined> {
    const { authority } = this.options;
    for (const [address, policy] of this.rules) {
      if (!isOpenedFor(policy, host)) continue;
      return authority.has(host) || this.shares.take(address) ? authority.leaf(host) : undefined;
    }
    return undefined;
  }

  /** A proxy that does not answer could go on with old rules, so it is ended. */
  private fail(child: ProxyChild, cause: unknown): never {
    child.kill();
    throw new AppError("unavailable", "The egress proxy does not answer; try again in a moment", { reason: "egress_proxy", cause });
  }

  private onEnd(child: ProxyChild, how: string): void {
    if (this.closed || this.child !== child) return;
    const waitMs = Math.min(AGAIN_MS.most, AGAIN_MS.first * 2 ** this.ends);
    this.ends += 1;
    this.options.logger.warn({ how, waitMs }, "the egress proxy ended; it is started again, and sandboxes reach nothing by name meanwhile");
    void this.options.clock
      .sleep(waitMs)
      .then(() =>
        this.queue.run(async () => {
          if (!this.child?.isAlive && this.rules.size > 0) await this.start();
        }),
      )
      .catch((error) => this.options.logger.error({ err: error }, "the egress proxy can't be started"));
  }
}
