import { fingerprint, openLocalDriver } from "@boxyard/driver-local";
import { isSetUp, lineReporter, machineBuildSettings, readSetupConfig, runSetup, tuneMachine } from "@boxyard/driver-local/setup";
import { run } from "./verbs/index.ts";

/* The one place that chooses a concrete driver. Verbs: serve, setup, doctor, release. */

/** Read when a verb asks, so that a bad setting becomes its error. */
const settings = () => readSetupConfig();
const { stderr } = process;
const reporter = () =>
  lineReporter({ write: (text) => stderr.write(text), terminal: stderr.isTTY === true, columns: stderr.columns ?? 80 });

process.exitCode = await run(process.argv.slice(2), {
  isSetUp: () => isSetUp(settings()),
  setUp: async (args) => {
    await runSetup(settings(), reporter());
    if (args.includes("--tune")) stderr.write(`setup: ${await tuneMachine(settings())}\n`);
  },
  openDriver: (logger) => {
    const { dataDir, network, runtime } = settings();
    return openLocalDriver({
      dataFolder: dataDir,
      logger,
      ...(network && { network }),
      ...(runtime && { runtime }),
      // `boxyard bench --trace` reads these lines.
      observer: { onStep: ({ name, durationMs }) => logger.debug({ step: name, ms: durationMs }, "driver step") },
    });
  },
  buildSettings: (folder) => machineBuildSettings(folder, settings()),
  fingerprint: () => fingerprint(settings().dataDir, { runtime: settings().runtime }),
});

// All is said and done: what a failed start has left open (timers, sockets) must not keep the process from ending.
setTimeout(() => process.exit(), 1000).unref();
