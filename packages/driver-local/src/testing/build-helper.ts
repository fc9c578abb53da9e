import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { kernelHeaders } from "../setup/compile-helper.ts";

const SOURCES = join(import.meta.dir, "../../../../native");
const WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"];
/** The flags that the set-up uses. */
const PLAIN = ["-static", "-Os", "-s"];
/** Every invalid memory access and every undefined operation ends the program with an error. Needs gcc, since musl has no sanitizers. */
const SANITIZED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

export interface HelperBuild {
  readonly sanitized?: boolean;
  /** Absolute paths of more C files. A file with its own `main` needs `without: ["main.c"]`. */
  readonly more?: readonly string[];
  /** Names of files of the helper to leave out. */
  readonly without?: readonly string[];
}

/** Path of a helper in C (`native/<directory>`), compiled once for each state of its source, with every warning an error. */
export function buildHelper(directory: string, { sanitized = false, more = [], without = [] }: HelperBuild = {}): string {
  const root = join(SOURCES, directory);
  const own = readdirSync(root).filter((name) => !without.includes(name));
  const files = [...own.sort().map((name) => join(root, name)), ...more];
  const compiler = (sanitized ? null : Bun.which("musl-gcc")) ?? Bun.which("gcc");
  if (!compiler) throw new Error(`building ${directory} needs ${sanitized ? "gcc" : "musl-gcc (Debian package musl-tools) or gcc"}`);
  const hasher = new Bun.CryptoHasher("sha256");
  for (const file of files) hasher.update(readFileSync(file));
  const hash = hasher.digest("hex").slice(0, 16);
  const target = join(tmpdir(), "boxyard-test-helpers", `${basename(directory)}-${hash}${sanitized ? "-sanitized" : ""}`);
  if (existsSync(target)) return target;
  mkdirSync(join(target, ".."), { recursive: true });
  const scratch = `${target}.${process.pid}`;
  const sources = files.filter((file) => file.endsWith(".c"));
  const options = [...WARNINGS, ...(sanitized ? SANITIZED : PLAIN), `-I${root}`];
  const built = Bun.spawnSync([compiler, ...options, "-o", scratch, ...sources, ...(sanitized ? [] : kernelHeaders())]);
  if (!built.success) throw new Error(`${directory} does not compile:\n${built.stderr.toString()}`);
  renameSync(scratch, target);
  return target;
}
