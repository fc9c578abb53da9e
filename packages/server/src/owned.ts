import type { FrontOptions } from "./proxy/front.ts";
import type { Permit } from "./sandboxes/engine/parts.ts";

/** What a server is told that owns the sandboxes for a time, as one of several on one database (`replicas/`). */
export interface Owned {
  /** Its writes are refused once there is a later epoch. */
  readonly epoch: number;
  /** Whether it may change sandboxes now. */
  readonly permit: Permit;
  /** Rejects when another replica has taken over. */
  readonly lost: Promise<never>;
  /** The ports are those of the replica, which keeps them open. */
  readonly front: Pick<FrontOptions, "ports" | "own" | "passedOn">;
  /** How many replicas there are now. */
  readonly countReplicas: () => Promise<number>;
}
