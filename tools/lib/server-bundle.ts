import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { SERVER_PROGRAMS } from "@boxyard/testkit";
import type { BunPlugin } from "bun";
import { ROOT } from "../config.ts";

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
 * Makes the server's programs of this checkout in `directory`, each as one file with its bytecode, which starts with 0.15 s less CPU time than the
 * hundreds of sources: a test run starts it hundreds of times. The format is CommonJS, because Bun writes bytecode of ES modules into executables only.
 */
export async function bundleServer(directory: string): Promise<void> {
  await Bun.build({
    entrypoints: Object.values(SERVER_PROGRAMS),
    root: ROOT,
    outdir: directory,
    target: "bun",
    format: "cjs",
    bytecode: true,
    plugins: [directories],
  });
}
