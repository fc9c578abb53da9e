import type { SandboxHandle } from "../handle.ts";
import type { TakenAttempts } from "./attempts.ts";
import type { EgressPolicy } from "./egress-policy.ts";

export interface NetworkCapabilities {
  /** The network policy of a running sandbox can be changed (`setNetwork`). */
  readonly network: boolean;
  /** The server can connect to loopback ports inside (`connectInside`): needs the sandbox and the server on one machine. */
  readonly loopback: boolean;
}

/**
 * The part of a driver that enforces the network policy of sandboxes. The policy itself is the server's.
 *
 * **Words.** *Egress* is what leaves a sandbox; *ingress* is what the server sends in, to the agent and to ports.
 *
 * **Life.** A sandbox has the network of its spec from its first process on; `setNetwork` replaces it while the sandbox runs. A resume takes
 * the network of the spec that it is given. The network ends with the sandbox.
 *
 * **Guarantees.**
 * - The server reaches the agent and every port on the sandbox's address, whatever the policy for egress is.
 * - No sandbox reaches another one, or the machine, whatever the policy is.
 * - An address is not given to another incarnation while a connection to the old one could exist.
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
   * Replaces the network policy, at once: open connections that it does not allow are cut too. Repeatable. Throws `not_found` for a sandbox that does
   * not run, `invalid_argument` for a policy that cannot be enforced. Needs the capability `network`.
   */
  setNetwork(handle: SandboxHandle, network: EgressPolicy): Promise<void>;

  /**
   * What sandboxes have tried to reach since the last call, whether it was let out or not: of each sandbox a bounded number a second. A driver
   * that cannot know gives none.
   */
  takeAttempts(): TakenAttempts;

  /**
   * Connects to a TCP port inside that listens on a loopback address only, which `address` does not reach. Resolves with a connected, non-blocking
   * descriptor of this process, which the caller closes; with undefined when nothing listens. Throws `not_found` for a sandbox that does not run.
   * Needs the capability `loopback`.
   */
  connectInside(handle: SandboxHandle, port: number, signal: AbortSignal): Promise<number | undefined>;
}
