import type { SandboxId } from "@boxyard/core";

/** Identifies a sandbox for its driver. Small and serialisable; holds no pid, path or address. */
export interface SandboxHandle {
  readonly driver: string;
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
}
