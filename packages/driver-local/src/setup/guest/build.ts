import { chmodSync, closeSync, copyFileSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { FileLock } from "@boxyard/core/file-lock";
import { runCommand } from "../../sys/run.ts";
import { CHECKOUT, hashSources } from "../checkout.ts";
import { compileHelper } from "../compile-helper.ts";
import { systemEnv } from "../config.ts";
import { makeGuestDirectories, openGuestToAll } from "./directories.ts";
import { interpreterPatch } from "./elf.ts";
import { parseLdd } from "./libraries.ts";

/** Path of the bundle's loader in every sandbox, where the bundle is mounted at /.boxyard. */
const LOADER_INSIDE = "/.boxyard/lib/ld.so";
const AGENT_ENTRY = "packages/agent/src/main.ts";
const LAUNCH_SOURCES = "native/guest/launch";
const INIT_SOURCES = "native/guest/init";
/** Sources of the agent, of `launch` and of `init`. */
const SOURCES = ["packages/agent/src", "packages/core/src", "packages/spec/src", LAUNCH_SOURCES, INIT_SOURCES];

export interface GuestBuildOptions {
  /** Environment of the compilers. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly progress?: (text: string) => void;
  /** A lock that the compilers inherit. */
  readonly lock?: FileLock | undefined;
  /** Entry file of the agent, for tests; default: the agent's own. */
  readonly agentEntry?: string;
  /** Path of the Bun that the agent is made of; default: this one. */
  readonly runtime?: string;
}

/** Hash of the sources of a guest bundle. */
export function guestKey(): string {
  return hashSources(SOURCES, [Bun.version, Bun.revision, process.arch]);
}

/**
 * Builds the guest bundle into the new directory `target`: `init`, `agent`, `launch`, `lib/` and empty mount points. The bundle does not depend on
 * a data directory, so that a release can build it once and carry it.
 */
export async function buildGuest(target: string, options: GuestBuildOptions): Promise<void> {
  const progress = options.progress ?? (() => {});
  makeGuestDirectories(target);
  progress("the agent");
  await compileAgent(target, options);
  progress("its libraries");
  await copyLibraries(target, options);
  patchInterpreter(join(target, "agent"));
  progress("launch and init");
  // Of both, one process runs in every sandbox; launch forks for each command.
  await compileHelper(LAUNCH_SOURCES, join(target, "launch"), options.env, options.lock);
  await compileHelper(INIT_SOURCES, join(target, "init"), options.env, options.lock);
  openGuestToAll(target);
}

async function compileAgent(target: string, { env, agentEntry, runtime, lock }: GuestBuildOptions): Promise<void> {
  const entry = agentEntry ?? join(CHECKOUT, AGENT_ENTRY);
  const work = join(target, ".build");
  mkdirSync(work);
  await runCommand(
    [
      process.execPath,
      "build",
      "--compile",
      "--minify",
      "--bytecode",
      // Files that a user puts into the root directory of a sandbox must not configure the agent.
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      ...(runtime === undefined ? [] : [`--compile-executable-path=${runtime}`]),
      `--outfile=${join(target, "agent")}`,
      entry,
    ],
    { env, cwd: work, lock },
  );
  rmSync(work, { recursive: true });
}

/** Copies the agent's loader and libraries, so that the agent runs in images with another libc, an older one or none. */
async function copyLibraries(target: string, { env }: GuestBuildOptions): Promise<void> {
  const { loader, byName } = parseLdd(await runCommand(["ldd", join(target, "agent")], { env: systemEnv(env) }));
  copyFileSync(loader, join(target, "lib/ld.so"));
  chmodSync(join(target, "lib/ld.so"), 0o755);
  for (const [name, path] of byName) {
    copyFileSync(path, join(target, "lib", name));
    chmodSync(join(target, "lib", name), 0o755);
  }
}

function patchInterpreter(agent: string): void {
  const fd = openSync(agent, "r+");
  try {
    const head = new Uint8Array(4096);
    readSync(fd, head);
    const { offset, bytes } = interpreterPatch(head, LOADER_INSIDE);
    writeSync(fd, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(fd);
  }
  chmodSync(agent, 0o755);
}
