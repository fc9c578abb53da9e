import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { COMMAND_BUNDLE, COMMAND_PROGRAM, DRIVER_TEST_PROGRAMS, SERVER_PROGRAMS } from "@boxyard/testkit";
import type { BunPlugin } from "bun";
import { ROOT } from "../config.ts";

const LAYER_WORKER = "packages/driver-local/src/images/worker/main.ts";
const EGRESS_PROXY = "packages/egress-proxy/src/main.ts";

/** The files below the directory of a source, which it finds by `import.meta.dir`, are beside the source and not beside the bundle. */
const directories: BunPlugin = {
  name: "directories of sources",
  setup: (build) =>
    void build.onLoad({ filter: /\/packages\/[^/]+\/src\/.*\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll(/\bimport\.meta\.dir\b/g, JSON.stringify(dirname(path))),
      loader: "ts",
    })),
};

/**
 * Makes the programs of this checkout in `directory`, each as one file with its bytecode. A start from it takes less CPU time than one from hundreds of
 * sources: 0.15 s less for the server, 0.06 s for a command, 0.01 s for the layer worker, and a test run starts each hundreds of times. The format is
 * CommonJS, because Bun writes bytecode of ES modules into executables only.
 */
export async function makeBundles(directory: string): Promise<void> {
  const bundleOf = (source: string) => join(directory, source.replace(/\.ts$/, ".js"));
  await Bun.build({
    entrypoints: [...Object.values(SERVER_PROGRAMS), ...Object.values(DRIVER_TEST_PROGRAMS), COMMAND_PROGRAM, LAYER_WORKER, EGRESS_PROXY],
    root: ROOT,
    outdir: directory,
    target: "bun",
    format: "cjs",
    bytecode: true,
    define: {
      BOXYARD_LAYER_WORKER: JSON.stringify(bundleOf(LAYER_WORKER)),
      BOXYARD_EGRESS_PROXY: JSON.stringify(bundleOf(EGRESS_PROXY)),
    },
    plugins: [directories],
  });
  writeFileSync(join(directory, COMMAND_BUNDLE), `#!/bin/sh\nexec '${process.execPath}' '${bundleOf(COMMAND_PROGRAM)}' "$@"\n`, {
    mode: 0o755,
  });
}
