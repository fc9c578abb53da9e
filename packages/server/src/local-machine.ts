import type { StepObserver } from "@boxyard/core";
import { fingerprint, openLocalDriver } from "@boxyard/driver-local";
import {
  authorityPlaces,
  completeSetup,
  dashboardFiles,
  isInstalled,
  isSetUp,
  lineReporter,
  machineBuildSettings,
  packageHosts,
  readSetupConfig,
  rebuildBase,
  runSetup,
  sandboxAuthorities,
  sdkPackage,
  serverAuthorities,
  tuneMachine,
  uninstall,
} from "@boxyard/driver-local/setup";
import type { Machine } from "./machine.ts";
import { recordingsIn } from "./recordings/recording-files.ts";

/** Read when a verb needs the settings, so that the verb reports a bad setting. */
const settings = () => readSetupConfig();

/** This machine, on whose kernel the sandboxes run. `faults`: tests inject faults between the steps of the driver and of the server. */
export function localMachine(faults: { readonly driver?: StepObserver; readonly server?: StepObserver } = {}): Machine {
  // `process.stderr` takes some ms when it is first read, so only the verbs that report progress read it.
  const reporter = () => {
    const { stderr } = process;
    return lineReporter({ write: (text) => stderr.write(text), terminal: stderr.isTTY === true, columns: stderr.columns ?? 80 });
  };
  return {
    ...(faults.server && { observer: faults.server }),
    isSetUp: () => isSetUp(settings()),
    setUp: async (args) => {
      await runSetup(settings(), reporter());
      if (args.includes("--tune")) process.stderr.write(`setup: ${await tuneMachine(settings())}\n`);
    },
    rebuildBase: () => rebuildBase(settings(), reporter()),
    openDriver: async (logger, { ending } = { ending: false }) => {
      await completeSetup(settings());
      const trust = () => serverAuthorities(settings());
      const { dataDir, network, runtime, reserve, maxOpenFiles, diskBandwidth, networkShares, resolvConf, wakeCache } = settings();
      return openLocalDriver({
        dataDir: dataDir,
        logger,
        trust,
        ending,
        ...(networkShares && { networkShares }),
        ...(resolvConf && { resolvConf }),
        recordings: recordingsIn(dataDir),
        ...(network && { network }),
        ...(runtime && { runtime }),
        ...(reserve && { reserve }),
        ...(wakeCache && { wakeCache }),
        ...(maxOpenFiles && { maxOpenFiles }),
        ...(diskBandwidth && { diskBandwidth }),
        ...(faults.driver && { observer: faults.driver }),
      });
    },
    isInstalled: () => isInstalled(settings().dataDir),
    uninstall: () => uninstall(settings()),
    buildSettings: (directory, options) => machineBuildSettings(directory, settings(), options),
    // The driver, which makes the authority of the edge, is open by now.
    authorities: (setting) => sandboxAuthorities(authorityPlaces(setting), settings().dataDir),
    packageHosts: () => packageHosts(settings()),
    sdkPackage: () => sdkPackage(settings()),
    dashboardFiles: () => dashboardFiles(settings()),
    fingerprint: () => fingerprint(settings().dataDir, settings()),
  };
}
