import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";

type Env = Readonly<Record<string, string | undefined>>;

/** Path of an npm package's archive in `directory`; the machine's npm client fetches it if it is missing. The scripts of the package do not run. */
export async function fetchPackage(name: string, version: string, directory: string, env: Env): Promise<string> {
  const file = `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
  const path = join(directory, file);
  if (existsSync(path)) return path;
  mkdirSync(directory, { recursive: true });
  const work = mkdtempSync(join(directory, "fetch-"));
  try {
    await run(["npm", "pack", "--silent", "--ignore-scripts", `--pack-destination=${work}`, `${name}@${version}`], work, env);
    renameSync(join(work, file), path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return path;
}

/** Path of the program of this Bun version for processors without AVX2. npm installs its package only on request. */
export async function fetchBaselineBun(version: string, directory: string, env: Env): Promise<string> {
  const path = join(directory, `bun-linux-x64-baseline-${version}`);
  if (existsSync(path)) return path;
  const archive = await fetchPackage("@oven/bun-linux-x64-baseline", version, directory, env);
  const work = mkdtempSync(join(directory, "unpack-"));
  try {
    await run(["tar", "-xzf", archive, "--no-same-owner", "package/bin/bun"], work, env);
    renameSync(join(work, "package/bin/bun"), path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return path;
}

async function run(argv: readonly string[], cwd: string, env: Env): Promise<void> {
  const child = Bun.spawn([...argv], { cwd, env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const [errors, status] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (status === 0) return;
  const text = `'${argv.join(" ")}' failed with status ${status}: ${errors.trim()}`;
  throw new AppError("failed_precondition", text, { reason: "fetch_failed" });
}
