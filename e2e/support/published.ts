import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, type ProgramOptions, readTestConfig, runProgram, spreadDirectories } from "@boxyard/testkit";
import { onePerCache } from "./cache-lock.ts";

const DIRECTORY = join(CHECKOUT, "e2e/clients");

/** Installs published clients once into the cache, under a name made from what is asked for, and returns the directory. */
async function installOnce(
  kind: string,
  sources: readonly string[],
  install: (directory: string) => Promise<void>,
  runtime = "",
): Promise<string> {
  const config = readTestConfig();
  const hasher = new Bun.CryptoHasher("sha256").update(runtime);
  for (const path of sources) hasher.update(readFileSync(path));
  const directory = join(config.cacheDir, "clients", `${kind}-${hasher.digest("hex").slice(0, 16)}`);
  if (existsSync(directory)) return directory;
  await onePerCache(`clients-${kind}`, async () => {
    if (existsSync(directory)) return;
    const unfinished = `${directory}.${process.pid}`;
    mkdirSync(join(directory, ".."), { recursive: true });
    spreadDirectories(join(directory, ".."));
    mkdirSync(unfinished);
    try {
      await install(unfinished);
      renameSync(unfinished, directory);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  });
  return directory;
}

async function mustRun(argv: readonly string[], options: ProgramOptions): Promise<string> {
  const ended = await runProgram(argv, { limitMs: 480_000, ...options });
  if (ended.exitCode !== 0) throw new Error(`${argv.join(" ")} failed:\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

/** Directory whose `node_modules` holds the older npm client and the CLI. */
export function olderNpmClients(): Promise<string> {
  return installNpm("npm", join(DIRECTORY, "published"));
}

/** Path of Deno's program. */
export async function deno(): Promise<string> {
  return join(await installNpm("deno", join(CHECKOUT, "e2e/sdk/deno")), "node_modules/@deno/linux-x64-glibc/deno");
}

/** Bun installs the versions and checks the hashes of package-lock.json as npm does, in a tenth of npm's CPU time. No package needs an install script. */
function installNpm(kind: string, from: string): Promise<string> {
  const files = ["package.json", "package-lock.json", ".npmrc"].map((name) => join(from, name));
  return installOnce(kind, files, async (directory) => {
    for (const file of files) cpSync(file, join(directory, file.slice(from.length + 1)));
    const cache = join(directory, "downloads");
    await mustRun([process.execPath, "install", "--frozen-lockfile", "--ignore-scripts", "--cache-dir", cache], { cwd: directory });
    rmSync(cache, { recursive: true });
  });
}

/** A directory whose `node_modules` holds the agent frameworks of docs/integrations.md. */
export function npmFrameworks(): Promise<string> {
  return installNpm("frameworks", join(CHECKOUT, "e2e/integrations/js"));
}

const CLIENT = join(DIRECTORY, "python/requirements.txt");

/** A Python with the published client. */
export async function pythonClient(): Promise<string> {
  return join(await installPython("python", CLIENT), "python");
}

/** A Python with the agent frameworks of docs/integrations.md and the published client. */
export async function pythonFrameworks(): Promise<string> {
  const client = await installPython("python", CLIENT);
  return join(await installPython("python-frameworks", join(CHECKOUT, "e2e/integrations/requirements.txt"), client), "python");
}

/** The Python program itself: `python3` in the PATH may be a shell script that looks for the program at each start. */
async function pythonProgram(): Promise<string> {
  return (await mustRun(["python3", "-c", "import sys; print(sys.executable)"], {})).trim();
}

/** Installs Python packages in a quarter of pip's CPU time. */
const UV = "uv==0.13.9";

/** Path of uv's program, which the machine's own pip installs. */
async function uv(python: string): Promise<string> {
  const words = ["install", "-q", "--no-compile", "--no-deps", "--target"];
  const install = async (directory: string) => void (await mustRun([python, "-m", "pip", ...words, directory, UV], {}));
  return join(await installOnce("python-uv", [], install, python + UV), "bin/uv");
}

/** Installs packages. `beside`: a directory of this function whose packages are found as well. */
async function installPython(kind: string, requirements: string, beside?: string): Promise<string> {
  const python = await pythonProgram();
  const program = await uv(python);
  const install = async (directory: string) => {
    const packages = join(directory, "packages");
    // The packages are links to files of this cache, so nothing is stored twice.
    const cache = ["--cache-dir", join(directory, "downloads"), "--link-mode", "hardlink"];
    const { env } = readTestConfig();
    // uv does not read pip's settings.
    const index = env.PIP_INDEX_URL ? ["--default-index", env.PIP_INDEX_URL] : [];
    const words = ["pip", "install", "-q", "--no-config", "--system-certs", "--no-deps", ...cache, ...index];
    await mustRun([program, ...words, "--python", python, "--target", packages, "-r", requirements], {});
    // Python compiles modules when they are imported, which are few, and keeps them beside the packages.
    const path = `"\${0%/*}/packages${beside ? `:${beside}/packages` : ""}"`;
    writeFileSync(join(directory, "python"), `#!/bin/sh\nPYTHONDONTWRITEBYTECODE= PYTHONPATH=${path} exec '${python}' "$@"\n`, {
      mode: 0o755,
    });
  };
  return installOnce(kind, [requirements], install, python + UV + (beside ?? ""));
}
