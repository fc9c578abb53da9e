import type { FileLock } from "../sys/file-lock.ts";
import { hashSources } from "./checkout.ts";
import { compileHelper } from "./compile-helper.ts";

const SOURCES = "images/fork-server";

/** Path of the fork server's program in a data directory. */
export const forkServerFile = (dataDir: string): string => `${dataDir}/bin/fork-server`;

/** Hash of the sources of the fork server. */
export const forkServerKey = (): string => hashSources([SOURCES], [process.arch]);

/** Compiles the fork server to the new file `target`. */
export const buildForkServer = (target: string, env: Readonly<Record<string, string | undefined>>, lock?: FileLock): Promise<void> =>
  compileHelper(SOURCES, target, env, lock);
