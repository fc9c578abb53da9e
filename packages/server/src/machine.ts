import type { StepObserver } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { Fingerprint, SandboxDriver } from "@boxyard/driver";
import type { Authorities } from "./sandboxes/create/authorities.ts";
import type { TemplateSpec } from "./store/index.ts";
import type { BuildSettings } from "./templates/builds/stage/build-settings.ts";

/** The base template's files, and how sandboxes of it run. */
export interface BaseTree {
  /** Path of their tar. */
  readonly tar: string;
  readonly settings: Omit<TemplateSpec, "image">;
}

/** The concrete driver, as `main.ts` hands it to the verbs: nothing else of the server knows which one it is. */
export interface Machine {
  /** True when set-up has nothing to do; takes a few ms. */
  isSetUp(): Promise<boolean>;
  /** Makes the machine ready, telling on standard error what is done. Repeatable. */
  setUp(args: readonly string[]): Promise<void>;
  /** Builds the base template's files anew, telling on standard error what is done. */
  rebuildBase(): Promise<BaseTree>;
  openDriver(logger: Logger): Promise<SandboxDriver>;
  /** What template builds take along of this machine; its files go below `directory` inside, or where programs look for them. */
  buildSettings(directory: string, options: { readonly authorities: string }): Promise<BuildSettings>;
  /** What running sandboxes trust beside their images, by the setting BOXYARD_AUTHORITIES. */
  authorities(setting: string): Authorities;
  /** Path of the installable package of the TypeScript client that fits this version; made when it is first asked for. */
  sdkPackage(): Promise<string>;
  /** What this machine can do; works before set-up too. */
  fingerprint(): Promise<Fingerprint>;
  /** True when the machine holds something for the data directory that only a driver can give back. */
  isInstalled(): boolean;
  /**
   * Undoes what set-up did, after the driver's release. Returns what was kept, in sentences for people. Repeatable. Throws `failed_precondition`,
   * reason `not_ours`, for a data directory that was not set up on this machine.
   */
  uninstall(): readonly string[];
  /** Tests put faults between the steps of a create or a removal. */
  readonly observer?: StepObserver;
}
