/*
 * Makes `packages/spec/src/generated/pb/` (protobuf-es, for the SDK) from the protos.
 *
 *   bun tools/generate/protobuf.ts
 */
import { delimiter, dirname, join } from "node:path";
import { ROOT, readConfig } from "../config.ts";
import { npmBinary } from "../lib/suite.ts";

const { env } = readConfig();
// buf starts the plug-in with the command `bun`, so the directory of this Bun comes first in PATH.
const path = [dirname(process.execPath), env.PATH ?? ""].join(delimiter);
const result = Bun.spawnSync([npmBinary("buf"), "generate"], {
  cwd: join(ROOT, "packages/spec"),
  env: { ...env, PATH: path },
  stdout: "inherit",
  stderr: "inherit",
});
if (!result.success) process.exitCode = 1;
