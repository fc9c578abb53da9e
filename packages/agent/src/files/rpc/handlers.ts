import { statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import type { EntryInfo, filesystemService } from "@boxyard/spec/agent";
import { type AgentContext, actingUser, type RpcCall, type RpcHandlers, type SystemUser } from "../../contracts.ts";
import { EntryReader } from "../entry-info.ts";
import { ensureDir, PinnedDir } from "../path/pinned-dir.ts";
import { resolvePath } from "../path/resolve-path.ts";
import { errnoOf, fileError, guarded } from "../sys/errno.ts";
import { listDirMessage } from "./list-dir.ts";
import { entryOf, move } from "./move.ts";
import { removeTree } from "./remove-tree.ts";

type Handlers = RpcHandlers<typeof filesystemService>;

/** Entry at a path. Throws `not_found` with the text `missing` when nothing is there. */
function entryAt(ctx: AgentContext, path: string, missing: string): EntryInfo {
  const entry = guarded(`look at '${path}'`, () => {
    try {
      return new EntryReader(ctx.users).read(path);
    } catch (error) {
      if (errnoOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
  });
  if (!entry) throw new AppError("not_found", missing, { reason: "not_found" });
  return entry;
}

function makeDir(path: string, user: SystemUser): void {
  const existing = statSync(path, { throwIfNoEntry: false });
  if (existing?.isDirectory()) throw new AppError("already_exists", `directory already exists: ${path}`, { reason: "already_exists" });
  if (existing)
    throw new AppError("invalid_argument", `path already exists but it is not a directory: ${path}`, { reason: "not_a_directory" });
  ensureDir(path, user).close();
}

async function remove(path: string): Promise<void> {
  const { parent, name } = entryOf(path);
  let dir: PinnedDir;
  try {
    dir = PinnedDir.open(parent);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return;
    throw fileError(`remove '${path}'`, error);
  }
  try {
    await removeTree(dir, name);
  } catch (error) {
    throw fileError(`remove '${path}'`, error);
  } finally {
    dir.close();
  }
}

/** The unary methods of `filesystem.Filesystem` that read or change the tree (docs/contract/agent.md, File system). */
export function treeHandlers(ctx: AgentContext): Pick<Handlers, "Stat" | "MakeDir" | "Move" | "ListDir" | "Remove"> {
  const pathOf = (path: string, call: RpcCall) => resolvePath(ctx.state, actingUser(ctx, call.username), path);
  return {
    Stat({ path }, call) {
      const absolute = pathOf(path, call);
      return { entry: entryFor(call)(entryAt(ctx, absolute, `file not found: ${absolute}`)) };
    },
    MakeDir({ path }, call) {
      const absolute = pathOf(path, call);
      const user = actingUser(ctx, call.username);
      guarded(`create directory '${absolute}'`, () => makeDir(absolute, user));
      return { entry: entryFor(call)(entryAt(ctx, absolute, `directory is gone again: ${absolute}`)) };
    },
    async Move({ source, destination }, call) {
      const to = await move(pathOf(source, call), pathOf(destination, call), actingUser(ctx, call.username));
      return { entry: entryFor(call)(entryAt(ctx, to, `file is gone again: ${to}`)) };
    },
    ListDir({ path, depth }, call) {
      const listing = { users: ctx.users, path: pathOf(path, call), depth, signal: call.signal, present: entryFor(call) };
      return listDirMessage(listing, ctx.bodies.claim());
    },
    async Remove({ path }, call) {
      await remove(pathOf(path, call));
      return {};
    },
  };
}

/** User agent of the first Python client, which fails on unknown members. No later client sends it. */
const USER_AGENT = "connect-python";
const NO_METADATA: EntryInfo["metadata"] = Object.freeze({});

/** Prepares entries for the client of this call: whole, or only name, type and path for the oldest client (docs/contract/agent.md, Oldest client). */
function entryFor(call: RpcCall): (entry: EntryInfo) => EntryInfo {
  if (call.header("User-Agent") !== USER_AGENT) return (entry) => entry;
  call.setHeader("X-E2B-Legacy-SDK", "true");
  // Members with default values are not sent.
  const rest = { size: 0, mode: 0, permissions: "", owner: "", group: "", metadata: NO_METADATA, isSymlink: false };
  return ({ name, type, path }) => ({ name, type, path, ...rest });
}
