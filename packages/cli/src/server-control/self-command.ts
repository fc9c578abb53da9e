import { resolve } from "node:path";
import { executableBuild, PROGRAM } from "@boxyard/core";

/** Verbs of the server's program (`packages/server/src/verbs/index.ts`). */
export type ServerRole = "serve" | "supervise" | "setup" | "doctor" | "release" | "base-archive" | "rotate-store" | "uninstall";

/**
 * The command line of the server's program in one of its roles: the only place that knows where that program is. The command line client
 * never imports it, so that it starts fast and works where no server can.
 */
export function selfCommand(role: ServerRole, args: readonly string[] = []): [string, ...string[]] {
  if (executableBuild !== undefined) return [process.execPath, PROGRAM.server, role, ...args];
  return [process.execPath, resolve(import.meta.dir, "../../../server/src/main.ts"), role, ...args];
}

/** The path of this command, for programs that start it themselves. */
export function ownPath(): string {
  return executableBuild !== undefined ? process.execPath : resolve(import.meta.dir, "../../../../boxyard");
}
