/* `./boxyard dist`: makes the single executable and the installable packages in dist/. docs/dist.md describes their content. */
import { mkdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { archiveName, packPackage } from "@boxyard/sdk/pack";
import { ROOT, readConfig } from "../config.ts";
import { buildExecutable } from "./executable.ts";
import { IMAGES } from "./images.ts";
import { type BuildOptions, HELP, parseOptions } from "./options.ts";

const { stderr } = process;
const clear = stderr.isTTY ? "\r\x1b[K" : "";
const progress = (text: string) => void (stderr.isTTY && stderr.write(`${clear}dist: ${text} ...`));
const secondsSince = (startedAt: number) => `made in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`;

try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) console.log(HELP);
  else {
    if (!options.packagesOnly) await makeExecutable(options);
    await makePackages();
  }
} catch (error) {
  stderr.write(`${clear}dist: ${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof AggregateError) for (const problem of error.errors) stderr.write(`  ${problem}\n`);
  process.exitCode = 1;
}

async function makeExecutable(options: BuildOptions): Promise<void> {
  const startedAt = performance.now();
  const { path, build, bytes, made } = await buildExecutable(options, { env: readConfig().env, progress });
  const how = made ? secondsSince(startedAt) : "nothing has changed";
  tell(path, `${(bytes / 1e6).toFixed(0)} MB, linux-${process.arch}, build ${build}, ${how}`);
  if (!options.images) return;
  for (const { file, name } of IMAGES) {
    const archive = join(ROOT, "dist", file);
    tell(archive, `${(statSync(archive).size / 1e6).toFixed(0)} MB, image ${name}`);
  }
}

async function makePackages(): Promise<void> {
  const startedAt = performance.now();
  progress("client package");
  const path = join(ROOT, "dist", archiveName());
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  await packPackage(path);
  tell(path, `${(statSync(path).size / 1e3).toFixed(0)} kB, for npm install, ${secondsSince(startedAt)}`);
}

function tell(path: string, facts: string): void {
  stderr.write(clear);
  console.log(`${relative(process.cwd(), path)}: ${facts}`);
}
