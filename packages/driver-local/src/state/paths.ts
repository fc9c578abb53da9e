import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import { runtimeStateIn } from "./state-mount.ts";

/** Paths of this driver's files below the data directory. No other file spells these names. */
export class DataPaths {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  get sandboxes(): string {
    return join(this.root, "sandboxes");
  }

  /** Made first and removed last, so that a sandbox of which anything is left is always listed. */
  sandbox(id: SandboxId): string {
    return join(this.sandboxes, id);
  }

  state(id: SandboxId): string {
    return join(this.sandbox(id), "state.json");
  }

  /** Why the memory of a paused sandbox could not be restored in a trial; exists as long as its processes are kept for that. */
  failedTrial(id: SandboxId): string {
    return join(this.sandbox(id), "trial-failed");
  }

  /** Shown read-only inside at `/.boxyard/host`. */
  hostFacts(id: SandboxId): string {
    return join(this.sandbox(id), "host");
  }

  /** For an agent that was restored from another sandbox's memory. */
  initKey(id: SandboxId): string {
    return join(this.hostFacts(id), "init-key");
  }

  /** State of the OCI runtime (`--root`), which ends with the boot. */
  get runtime(): string {
    return runtimeStateIn(this.root);
  }

  /** What the runtime reads of one sandbox, and what it answers. */
  bundle(id: SandboxId): string {
    return join(this.runtime, id);
  }

  /** Prefix of the files that hold what CRIU has found out about a kernel. */
  get criuFacts(): string {
    return join(this.root, "run", "criu-facts");
  }

  /** The script that CRIU runs at each moment (`MOMENT_SCRIPT`). */
  get criuScript(): string {
    return join(this.root, "run", "criu-moment");
  }

  /** An empty directory; while a sandbox is made, its layers are mounted here, in a mount namespace that no other process sees. */
  get layersMount(): string {
    return join(this.root, "run", "layers");
  }
}
