import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { FileLock } from "@boxyard/core/file-lock";
import { runCommand } from "../sys/run.ts";
import { CHECKOUT } from "./checkout.ts";
import { systemEnv } from "./config.ts";

const PROGRAM = ["-static"];
/** Options for a library that uses no C library, so that a program with any C library can load it. */
export const LIBRARY: readonly string[] = ["-shared", "-fPIC", "-nostdlib"];

/** musl-gcc does not find the kernel's headers by itself. */
export function kernelHeaders(): string[] {
  const triplet = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  return ["-idirafter", "/usr/include", "-idirafter", `/usr/include/${triplet}`];
}

/**
 * Compiles the C files of a directory of the checkout to one small, static program at `output`, or, by `kind`, to a library. The compiler inherits
 * `lock`.
 */
export async function compileHelper(
  sources: string,
  output: string,
  env: Readonly<Record<string, string | undefined>>,
  lock?: FileLock,
  kind: readonly string[] = PROGRAM,
): Promise<void> {
  const directory = join(CHECKOUT, sources);
  const files = readdirSync(directory).flatMap((name) => (name.endsWith(".c") ? [join(directory, name)] : []));
  await runCommand(["musl-gcc", ...kind, "-Os", "-s", "-Wall", "-o", output, ...files, ...kernelHeaders()], { env: systemEnv(env), lock });
  chmodSync(output, 0o755);
}
