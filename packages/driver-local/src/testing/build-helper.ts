import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const IMAGES = join(import.meta.dir, "../../../../images");
const WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"];
/** As set-up compiles them. */
const PLAIN = ["-static", "-Os", "-s"];
/** Every access outside of memory, and every undefined operation, ends the program with 86. gcc, for musl has none of it. */
const SANITIZED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

export interface HelperBuild {
  readonly sanitized?: boolean;
  /** More C files, absolute; one that has a `main` takes the place of the helper's own `main.c`. */
  readonly more?: readonly string[];
  readonly without?: readonly string[];
}

/** Path of a helper in C (`images/<directory>`), compiled once for each state of its source, with every warning an error. */
export function buildHelper(directory: string, { sanitized = false, more = [], without = [] }: HelperBuild = {}): string {
  const root = join(IMAGES, directory);
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
  const built = Bun.spawnSync([compiler, ...WARNINGS, ...(sanitized ? SANITIZED : PLAIN), `-I${root}`, "-o", scratch, ...sources]);
  if (!built.success) throw new Error(`${directory} does not compile:\n${built.stderr.toString()}`);
  renameSync(scratch, target);
  return target;
}
