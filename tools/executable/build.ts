/* `./boxyard dist [--baseline] [--force]`: makes the single executable, dist/boxyard. docs/dist.md says what is in it. */
import { relative } from "node:path";
import { readConfig } from "../config.ts";
import { buildExecutable } from "./executable.ts";
import { parseOptions } from "./options.ts";

const { stderr } = process;
const clear = stderr.isTTY ? "\r\x1b[K" : "";

try {
  const startedAt = performance.now();
  const { path, build, bytes, made } = await buildExecutable(parseOptions(process.argv.slice(2)), {
    env: readConfig().env,
    progress: (text) => stderr.isTTY && stderr.write(`${clear}dist: ${text} ...`),
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  stderr.write(clear);
  const how = made ? `made in ${seconds} s` : "nothing has changed";
  console.log(`${relative(process.cwd(), path)}: ${(bytes / 1e6).toFixed(0)} MB, linux-${process.arch}, build ${build}, ${how}`);
} catch (error) {
  stderr.write(`${clear}dist: ${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof AggregateError) for (const problem of error.errors) stderr.write(`  ${problem}\n`);
  process.exitCode = 1;
}
