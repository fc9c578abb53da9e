import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, type ProgramOptions, readTestConfig, runProgram } from "@boxyard/testkit";
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
    mkdirSync(unfinished, { recursive: true });
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

/** A Python with the agent frameworks of docs/integrations.md. */
export function pythonFrameworks(): Promise<string> {
  return installPython("python-frameworks", join(CHECKOUT, "e2e/integrations/requirements.txt"));
}

/** A Python with the published client. */
export function pythonClient(): Promise<string> {
  return installPython("python", join(DIRECTORY, "python/requirements.txt"));
}

/** The Python program itself: `python3` in the PATH may be a shell script that looks for the program at each start. */
async function pythonProgram(): Promise<string> {
  return (await mustRun(["python3", "-c", "import sys; print(sys.executable)"], {})).trim();
}

/** An exact version of pip: the one that comes with Python may be older, and takes twice as long, because it checks each file of all versions of a package. */
const PIP = "pip==26.3";

/** Runs an exact version of pip, which the machine's own pip installs beside itself: a virtual environment takes three times as long to make. */
async function pip(python: string, args: readonly string[]): Promise<void> {
  // pip has 400 modules, and an environment without compiled modules would compile them at each of its starts.
  const { env } = readTestConfig();
  const run = (more: object, words: readonly string[]) =>
    mustRun([python, "-m", "pip", "install", "-q", "--no-compile", "--target", ...words], {
      env: { ...env, PYTHONDONTWRITEBYTECODE: "", ...more },
    });
  const directory = await installOnce("python-pip", [], async (made) => void (await run({}, [made, PIP])), python + PIP);
  await run({ PYTHONPATH: directory }, args);
}

async function installPython(kind: string, requirements: string): Promise<string> {
  const python = await pythonProgram();
  const install = async (directory: string) => {
    // Python compiles modules when they are imported, which are few. pip would compile all, which takes as long as the rest of its work.
    await pip(python, [join(directory, "packages"), "-r", requirements]);
    writeFileSync(
      join(directory, "python"),
      // Compiled modules are not written to the checkout.
      `#!/bin/sh\nPYTHONPYCACHEPREFIX="\${0%/*}/bytecode" PYTHONPATH="\${0%/*}/packages" exec '${python}' "$@"\n`,
      { mode: 0o755 },
    );
  };
  return join(await installOnce(kind, [requirements], install, python), "python");
}
