import { hashSources } from "./checkout.ts";
import { compileHelper } from "./compile-helper.ts";

const SOURCES = "images/fork-server";

/** Path of the fork server's program in a data directory: in a directory of it, for what lies directly in there is nobody's to execute. */
export const forkServerFile = (dataDir: string): string => `${dataDir}/bin/fork-server`;

/** Hash of what the fork server is built from. */
export const forkServerKey = (): string => hashSources([SOURCES], [process.arch]);

/** Compiles the fork server to the new file `target`. */
export const buildForkServer = (target: string, env: Readonly<Record<string, string | undefined>>): Promise<void> =>
  compileHelper(SOURCES, target, env);
