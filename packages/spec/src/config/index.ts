import { ADDRESS_SETTINGS } from "./addresses.ts";
import { BUILD_SETTINGS } from "./builds.ts";
import { CLUSTER_SETTINGS } from "./cluster.ts";
import { LOG_SETTINGS } from "./log.ts";
import { MACHINE_SETTINGS } from "./machine.ts";
import { SANDBOX_SETTINGS } from "./sandboxes.ts";
import type { Setting } from "./setting.ts";

export type { Setting } from "./setting.ts";

/** Every setting of the platform; `docs/configuration.md` is made from this table. */
export const SETTINGS = [
  ...MACHINE_SETTINGS,
  ...CLUSTER_SETTINGS,
  ...LOG_SETTINGS,
  ...SANDBOX_SETTINGS,
  ...BUILD_SETTINGS,
  ...ADDRESS_SETTINGS,
] as const satisfies readonly Setting[];

export type SettingName = (typeof SETTINGS)[number]["name"];
