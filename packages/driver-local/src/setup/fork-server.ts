import type { FileLock } from "@boxyard/core/file-lock";
import { hashSources } from "./checkout.ts";
import { compileHelper, LIBRARY } from "./compile-helper.ts";

const SOURCES = "native/fork-server";
const PRELOAD_SOURCES = "native/criu-preload";

/** Path of the fork server's program in a data directory. */
export const forkServerFile = (dataDir: string): string => `${dataDir}/bin/fork-server`;

/** Path, in a data directory, of the library that a dump loads before those of CRIU. */
export const criuPreloadFile = (dataDir: string): string => `${dataDir}/bin/criu-preload.so`;

/** Hash of the sources of the fork server and of the library. */
export const forkServerKey = (): string => hashSources([SOURCES, PRELOAD_SOURCES], [process.arch]);

/** Compiles the fork server to the new file `target`. */
export const buildForkServer = (target: string, env: Readonly<Record<string, string | undefined>>, lock?: FileLock): Promise<void> =>
  compileHelper(SOURCES, target, env, lock);

/** As `buildForkServer`, for the library. */
export const buildCriuPreload: typeof buildForkServer = (target, env, lock) => compileHelper(PRELOAD_SOURCES, target, env, lock, LIBRARY);
