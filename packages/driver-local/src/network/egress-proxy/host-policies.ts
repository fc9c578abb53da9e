import type { Logger } from "@boxyard/core/node";
import { type EdgePolicy, type EgressPolicy, hostPolicy } from "@boxyard/driver";
import type { EgressProxy } from "./egress-proxy.ts";

/**
 * What the egress proxy knows about each sandbox, by its address. Policies that come from a record on disk lack what may be secret (`withoutEdge`); it is
 * taken from the last whole policy of the same lease, and without one the proxy refuses the sandbox's connections until the server has given it.
 */
export class HostPolicies {
  private readonly proxy: EgressProxy;
  private readonly logger: Logger;
  private readonly edges = new Map<string, EdgePolicy>();

  constructor(proxy: EgressProxy, logger: Logger) {
    this.proxy = proxy;
    this.logger = logger;
  }

  /** Keeps what the policy of a new lease has of secrets, for the time when it is put in force. */
  expect(address: string, { edge }: EgressPolicy): void {
    if (edge && !edge.isWithheld) this.edges.set(address, edge);
    else if (!edge) this.edges.delete(address);
  }

  /** Puts a policy in force; throws as `EgressProxy.set`. */
  async put(address: string, egress: EgressPolicy): Promise<void> {
    this.expect(address, egress);
    const edge = this.edges.get(address);
    await this.proxy.set(address, hostPolicy(edge ? { ...egress, edge } : egress));
  }

  /** Puts the policy of a sandbox that an earlier process has left in force, without waiting. */
  adopt(address: string, egress: EgressPolicy): void {
    this.put(address, egress).catch((error) => this.logger.error({ err: error, address }, "no names for a sandbox"));
  }

  async drop(address: string): Promise<void> {
    this.edges.delete(address);
    // The address is free already; what cannot be told to the proxy now, an ended one has forgotten.
    await this.proxy.set(address, undefined).catch((error) => this.logger.warn({ err: error }, "the egress proxy was ended"));
  }

  close(): Promise<void> {
    return this.proxy.close();
  }
}
