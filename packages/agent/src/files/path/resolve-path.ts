import { posix } from "node:path";
import { AppError } from "@boxyard/core";
import type { AgentState, SystemUser } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";

/** Refuses text that cannot be a path of the kernel: with NUL, with half a surrogate pair, longer than PATH_MAX. */
function checkText(path: string): void {
  if (path.includes("\0")) throw new AppError("invalid_argument", "path holds a NUL character", { reason: "bad_path" });
  if (!path.isWellFormed()) throw new AppError("invalid_argument", "path is not valid Unicode", { reason: "bad_path" });
  if (Buffer.byteLength(path) >= LIMITS.pathBytes) {
    throw new AppError("invalid_argument", `path is longer than ${LIMITS.pathBytes - 1} bytes`, { reason: "bad_path" });
  }
}

/** `home` and a relative rest as one clean path without a trailing slash. */
function joinHome(home: string, rest: string): string {
  const joined = posix.join(home || "/", rest);
  return joined.length > 1 && joined.endsWith("/") ? joined.slice(0, -1) : joined;
}

/**
 * The absolute path for a path of a request, HTTP or RPC. No other code resolves paths (docs/contract/agent.md, Paths).
 *
 * Empty: the default working directory, else the user's home. `~` and `~/x`: below the user's home. Absolute: as it is, not cleaned.
 * Relative: below the user's home. Throws `invalid_argument` for `~other` and for text that can't be a path. Links are not followed here.
 */
export function resolvePath(state: Pick<AgentState, "defaultWorkdir">, user: Pick<SystemUser, "home">, path: string): string {
  checkText(path);
  const absolute = spell(state, user, path);
  checkText(absolute);
  return absolute;
}

function spell(state: Pick<AgentState, "defaultWorkdir">, user: Pick<SystemUser, "home">, path: string): string {
  if (path === "") return state.defaultWorkdir ? spell({ defaultWorkdir: undefined }, user, state.defaultWorkdir) : joinHome(user.home, "");
  if (path === "~" || path.startsWith("~/")) return joinHome(user.home, path.slice(1));
  if (path.startsWith("~")) {
    throw new AppError("invalid_argument", `cannot expand the home directory of another user: '${path}'`, { reason: "bad_path" });
  }
  return path.startsWith("/") ? path : joinHome(user.home, path);
}

/** Last component of a path; `/` for the root. */
export function baseName(path: string): string {
  return posix.basename(path) || "/";
}
