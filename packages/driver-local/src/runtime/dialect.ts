import type { Clock } from "@boxyard/core";
import type { SeccompForm } from "../oci/seccomp/config.ts";
import type { ChildProgram } from "../sys/fork-server/index.ts";

export const RUNTIME_NAMES = ["crun", "runc"] as const;
export type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** What a dialect's mounts are made from. */
export interface DialectMounts {
  /** The runtime's own program. */
  readonly file: string;
  /** The sandbox's own v2 cgroup. */
  readonly cgroup: string;
  /** On hybrid machines, the v2 root's list of controllers (see `hybridControllersFile`). */
  readonly controllersFile: string | undefined;
}

/** Where one OCI runtime differs from another; everything else is `OciRuntime`. */
export interface Dialect {
  readonly name: RuntimeName;
  /** Options before `create` that make the runtime leave cgroups alone: the driver makes them. */
  readonly options: readonly string[];
  /** Its environment, beside PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Matches the output of `--version` of a runtime with seccomp. One built without it may silently start a sandbox that has no filter. */
  readonly filters: RegExp;
  /** How the program `file` takes the filter of system calls. */
  seccompForm(file: string): SeccompForm;
  /** Mounts that the runtime, and it alone, finds in the machine's own tree. */
  addMounts(program: ChildProgram, mounts: DialectMounts): void;
  /** Lets the waiting init go on. `isAlive` says whether that init still lives. Fails with ENXIO when it has ended. */
  start(fifo: string, isAlive: () => boolean, clock: Clock): Promise<void>;
}
