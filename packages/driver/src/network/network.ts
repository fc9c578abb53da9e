import type { SandboxHandle } from "../runtime/types.ts";
import type { EgressPolicy } from "./egress-policy.ts";

export interface NetworkCapabilities {
  /** Whom a running sandbox may speak with can be changed (`setNetwork`). */
  readonly network: boolean;
  /** What listens on loopback only, inside, can be connected to (`connectInside`): needs the sandbox and the server on one machine. */
  readonly loopback: boolean;
}

/**
 * The part of a driver that decides nothing and enforces everything about packets to and from a sandbox.
 *
 * **Words.** *Egress* is what leaves a sandbox; *ingress* is what the server sends in, to the agent and to ports.
 *
 * **Life.** A sandbox has the network of its spec from its first process on; `setNetwork` replaces it while the sandbox runs. A resume takes
 * the network of the spec that it is given. The network ends with the sandbox.
 *
 * **Guarantees.**
 * - The server reaches the agent and every port on the sandbox's address, whatever the policy for egress is.
 * - No sandbox reaches another one, or the machine, whatever the policy is.
 * - An address is never used again for another incarnation while a connection to the old one could exist.
 *
 * **Example.**
 * ```ts
 * const handle = await driver.create({ ...spec, network: { internetAccess: true } }, signal);
 * await driver.start(handle, signal);
 * if (driver.capabilities.network) await driver.setNetwork(handle, { internetAccess: false }); // open connections are cut
 * ```
 */
export interface NetworkDriver {
  readonly capabilities: NetworkCapabilities;

  /**
   * Replaces whom a sandbox may speak with, at once: what is no longer allowed is cut off in open connections too. Repeatable; a sandbox that
   * is not running: `not_found`. Needs the capability `network`.
   */
  setNetwork(handle: SandboxHandle, network: EgressPolicy): Promise<void>;

  /**
   * Connects to a TCP port on which something inside listens on a loopback address only, so that `address` does not lead there. Resolves
   * with a connected, non-blocking descriptor of this process, which is the caller's to close; with undefined when nothing listens. A sandbox
   * that is not running: `not_found`. Needs the capability `loopback`.
   */
  connectInside(handle: SandboxHandle, port: number, signal: AbortSignal): Promise<number | undefined>;
}
