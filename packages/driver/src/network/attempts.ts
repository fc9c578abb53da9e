import type { SandboxId } from "@boxyard/core";

/** Why a packet was let out or refused: the driver's own rules, in words of this contract. */
export type AttemptRule =
  /** Nothing forbids it. */
  | "allowed"
  /** `internetAccess: false` without lists. */
  | "internetAccess"
  /** The lists of the policy do not permit the address. */
  | "lists"
  /** The policy does not permit the name. */
  | "names"
  /** A private, link-local or metadata address, closed to every sandbox. */
  | "blocked"
  /** An address of the machine itself. */
  | "machine"
  /** Neither TCP nor UDP nor an echo request. */
  | "protocol"
  /** As many connections as a sandbox may have. */
  | "connections"
  /** The recording that answers the sandbox has no answer to this request; `incompleteReplay`: it may be among what the recording lacks. */
  | "replay"
  | "incompleteReplay";

/** Something that a sandbox has tried to reach. */
export interface NetworkAttempt {
  readonly sandboxId: SandboxId;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly protocol: "dns" | "tcp" | "udp" | "icmp" | "http" | "other";
  readonly isAllowed: boolean;
  readonly rule: AttemptRule;
  /** Of a question to the name server: what was asked for. Of a request by HTTP: the host. */
  readonly name?: string;
  /** IPv4 address to which it went. */
  readonly address?: string;
  /** Of TCP and UDP. */
  readonly port?: number;
  /** Of a request by HTTP: its method and URL, which may be cut off. */
  readonly request?: string;
  /** Of a connection that was let out by its name: the entry of `allowOut` that allowed it, in the form that `parseHostRule` gives. */
  readonly entry?: string;
  /** Of a connection through the egress proxy: the bytes that the sandbox has sent and received since the last report of the connection. */
  readonly sentBytes?: number;
  readonly receivedBytes?: number;
  /** IPv4 addresses that the name server gave for the name. */
  readonly answers?: readonly string[];
}

/** Attempts since the last call, oldest first. */
export interface TakenAttempts {
  readonly attempts: readonly NetworkAttempt[];
  /** How many more there were of which nothing is known but their number; packets that the kernel did not report are not counted. */
  readonly dropped: ReadonlyMap<SandboxId, number>;
  /** Recordings to which nothing is added any more, by their ids, with the reason (`StopReason` of the recordings). */
  readonly stopped?: ReadonlyMap<string, string>;
}
