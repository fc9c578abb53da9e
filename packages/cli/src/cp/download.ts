import { constants, lstatSync, mkdirSync, symlinkSync } from "node:fs";
import { chmod, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AppError } from "@boxyard/core";
import type { Sandbox } from "@boxyard/sdk";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { Progress } from "../output/progress.ts";
import { atOnce } from "./at-once.ts";
import { kindOf } from "./local-tree.ts";
import { type RemoteFile, remoteTree } from "./remote-tree.ts";
import { writeAll } from "./write-all.ts";

const FILES_AT_ONCE = 6;
/** Levels of folders that are copied. */
const MAX_DEPTH = 1000;

/** Copies a file or folder out of a sandbox. Nothing that the sandbox says can make it write outside of `target`. */
export async function download(
  sandbox: Sandbox,
  source: string,
  target: string,
  user: string | undefined,
  context: CliContext,
): Promise<void> {
  const info = await sandbox.files.getInfo(source, { user });
  const into = target.endsWith("/") || kindOf(target) === "directory";
  const name = basename(info.path);
  const path = resolve(into ? join(target, name && name !== ".." ? name : "sandbox") : target);
  if (kindOf(dirname(path)) !== "directory") throw usageError(`there is no folder ${dirname(path)}`);
  const progress = new Progress(context.output, basename(path), info.type === "file" ? info.size : undefined);
  try {
    if (info.type === "directory") return await downloadFolder(sandbox, info.path, path, user, progress, context);
    await receive(sandbox, { path: "", source: info.path, size: info.size, mode: info.mode & 0o777 }, path, user, progress);
    progress.finish("copied 1 file");
  } catch (error) {
    progress.clear();
    throw error;
  }
}

async function downloadFolder(
  sandbox: Sandbox,
  source: string,
  target: string,
  user: string | undefined,
  progress: Progress,
  context: CliContext,
): Promise<void> {
  const tree = remoteTree(source, await sandbox.files.list(source, { user, depth: MAX_DEPTH }));
  mkdirSync(target, { recursive: true });
  for (const directory of tree.directories) makeRealDirectory(join(target, directory));
  await atOnce(tree.files, FILES_AT_ONCE, (file) => receive(sandbox, file, join(target, file.path), user, progress));
  // Last, so that nothing can have been written through them.
  for (const link of tree.links) makeLink(link.target, join(target, link.path));
  progress.finish(`copied ${tree.files.length} files`);
  for (const skipped of tree.skipped) context.output.note(`skipped ${JSON.stringify(skipped)}: it leads out of the folder, or is no file`);
}

/** A directory that is one: a link in its place would lead elsewhere. */
function makeRealDirectory(path: string): void {
  try {
    mkdirSync(path);
  } catch (cause) {
    if (lstatSync(path).isDirectory()) return;
    throw new AppError("already_exists", `${path} exists and is no folder`, { reason: "local_file", cause });
  }
}

function makeLink(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (cause) {
    throw new AppError("already_exists", `cannot make the link ${path}`, { reason: "local_file", cause });
  }
}

/** Writes beside the target and renames, so that a copy that fails leaves what was there. */
async function receive(sandbox: Sandbox, file: RemoteFile, target: string, user: string | undefined, progress: Progress): Promise<void> {
  const temporary = join(dirname(target), `.${basename(target)}.boxyard-${process.pid}`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, 0o600);
  try {
    const stream = await sandbox.files.read(file.source, { user, format: "stream" });
    for await (const chunk of stream) {
      await writeAll(handle, chunk);
      progress.add(chunk.length);
    }
    await handle.close();
    await chmod(temporary, file.mode);
    await rename(temporary, target);
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }
}
