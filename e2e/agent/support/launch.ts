import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const DIRECTORY = join(import.meta.dir, "../../../images/guest/launch");

/** Path of the compiled `launch`, built once for each state of its source, with every warning an error. */
export function buildLaunch(): string {
  const files = readdirSync(DIRECTORY)
    .sort()
    .map((name) => join(DIRECTORY, name));
  const hasher = new Bun.CryptoHasher("sha256");
  for (const file of files) hasher.update(readFileSync(file));
  const hash = hasher.digest("hex").slice(0, 16);
  const directory = join(tmpdir(), "boxyard-test-launch");
  const target = join(directory, `launch-${hash}`);
  if (existsSync(target)) return target;
  mkdirSync(directory, { recursive: true });
  const compiler = Bun.which("musl-gcc") ?? Bun.which("gcc");
  if (!compiler) throw new Error("building launch needs musl-gcc (Debian package musl-tools) or gcc");
  const scratch = `${target}.${process.pid}`;
  const flags = ["-std=c11", "-static", "-Os", "-s", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"];
  const built = Bun.spawnSync([compiler, ...flags, "-o", scratch, ...files.filter((file) => file.endsWith(".c"))]);
  if (!built.success) throw new Error(`launch does not compile:\n${built.stderr.toString()}`);
  renameSync(scratch, target);
  return target;
}
