import type { StepObserver } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { Fingerprint, SandboxDriver } from "@boxyard/driver";
import type { Authorities } from "./sandboxes/authorities.ts";
import type { TemplateSpec } from "./store/index.ts";
import type { BuildSettings } from "./templates/builds/stage/build-settings.ts";

/** The files of the base template, and the settings of its sandboxes. */
export interface BaseTree {
  /** Path of their tar. */
  readonly tar: string;
  readonly settings: Omit<TemplateSpec, "image">;
}

/** The machine with its driver, as `main.ts` passes it to the verbs. Only `local-machine.ts` knows a concrete driver. */
export interface Machine {
  /** Its sandboxes are elsewhere, so that several servers reach them. */
  readonly isShared?: boolean;
  /** True when set-up has nothing to do; takes a few ms. */
  isSetUp(): Promise<boolean>;
  /** Sets the machine up, and reports progress on standard error. Repeatable. */
  setUp(args: readonly string[]): Promise<void>;
  /** Builds the base template's files anew, and reports progress on standard error. */
  rebuildBase(): Promise<BaseTree>;
  /**
   * `ending`: only to end the sandboxes and release what they have. Then it opens although the range of addresses is in use by others.
   */
  openDriver(logger: Logger, options?: { readonly ending: boolean }): Promise<SandboxDriver>;
  /** Settings of this machine that template builds use. Their files go below `directory` in the sandbox, or where programs look for them. */
  buildSettings(directory: string, options: { readonly authorities: string }): Promise<BuildSettings>;
  /** Certificate authorities that sandboxes trust besides those of their images; `setting`: the value of BOXYARD_AUTHORITIES. */
  authorities(setting: string): Authorities;
  /** Hosts of the package registries that this machine is set to use; none on a machine that says nothing about it. */
  packageHosts(): readonly string[];
  /** Path of the installable package of the TypeScript client that fits this version; made when it is first asked for. */
  sdkPackage(): Promise<string>;
  /** Directory of the dashboard's files for this version; made when they are first asked for. */
  dashboardFiles(): Promise<string>;
  /** What this machine can do; also before set-up. */
  fingerprint(): Promise<Fingerprint>;
  /** True when the machine has something for the data directory that only a driver can release. */
  isInstalled(): boolean;
  /**
   * Undoes the set-up, after the driver's release. Returns sentences for people that say what was kept. Repeatable. Throws `failed_precondition`,
   * reason `not_ours`, for a data directory that was not set up on this machine.
   */
  uninstall(): Promise<readonly string[]>;
  /** Observes the steps of transitions; tests inject faults with it. */
  readonly observer?: StepObserver;
}
