export { parseSize, readSetupConfig } from "./config.ts";
export { guestFolder } from "./guest/install.ts";
export { type InstanceFile, readInstance } from "./instance-file.ts";
export { restoreKernelSettings } from "./kernel-settings.ts";
export { lineReporter, silentReporter } from "./reporter.ts";
export { isSetUp, pendingStages, runSetup } from "./run-setup.ts";
export { setupStages } from "./stages/index.ts";
export { makeTestDataFolder, type TestDataFolder } from "./test-data-folder.ts";
export type { Reporter, SetupConfig, Stage, StageReport } from "./types.ts";
