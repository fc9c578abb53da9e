import { constants, lstatSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { chmod, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AppError, atOnce } from "@boxyard/core";
import type { EntryInfo, Sandbox } from "@boxyard/sdk";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { Progress } from "../output/progress.ts";
import { isContents, kindOf } from "./local-tree.ts";
import { readLinks } from "./remote-links.ts";
import { type RemoteFile, remoteTree } from "./remote-tree.ts";
import { writeAll } from "./write-all.ts";

const FILES_AT_ONCE = 6;
/** Levels of directories that are copied. */
const MAX_DEPTH = 1000;

export interface Download {
  readonly sandbox: Sandbox;
  readonly user: string | undefined;
  readonly progress: Progress;
  readonly context: CliContext;
}

/** Copies a file or directory, or with `/.` the content of a directory, from a sandbox. No answer of the sandbox can cause a write outside of `target`. */
export async function download(
  sandbox: Sandbox,
  source: string,
  target: string,
  user: string | undefined,
  context: CliContext,
): Promise<void> {
  const info = await sandbox.files.getInfo(source, { user });
  if (target === "-") return print(sandbox, info, user, context);
  const contents = isContents(source);
  if (contents && info.type !== "directory") throw usageError(`${source} is not a directory`);
  const into = !contents && (target.endsWith("/") || kindOf(target) === "directory");
  const name = basename(info.path);
  const path = resolve(into ? join(target, name && name !== ".." ? name : "sandbox") : target);
  if (kindOf(dirname(path)) !== "directory") throw usageError(`there is no directory ${dirname(path)}`);
  const size = info.type === "file" && !info.isSymlink ? info.size : undefined;
  const progress = new Progress(context.output, basename(path), size);
  const copy: Download = { sandbox, user, progress, context };
  try {
    if (info.type === "directory") return await downloadDirectory(copy, info.path, path);
    await receive(copy, { path: "", source: info.path, size: info.size, mode: info.mode & 0o777 }, path);
    progress.finish("copied 1 file");
  } catch (error) {
    progress.clear();
    throw error;
  }
}

/** One file to our standard output. */
async function print(sandbox: Sandbox, info: EntryInfo, user: string | undefined, { output, signal }: CliContext): Promise<void> {
  if (info.type === "directory")
    throw usageError(`'-' takes one file; for a directory: boxyard exec ${sandbox.sandboxId} -- tar c ${info.path}`);
  for await (const chunk of await sandbox.files.read(info.path, { user, signal, format: "stream" })) await output.write(chunk);
}

async function downloadDirectory(copy: Download, source: string, target: string): Promise<void> {
  const { sandbox, user, progress, context } = copy;
  const entries = await sandbox.files.list(source, { user, depth: MAX_DEPTH });
  const links = entries.filter((entry) => entry.isSymlink).map(({ path }) => path);
  const tree = remoteTree(source, entries, await readLinks(sandbox, links, user));
  const isNew = kindOf(target) === undefined;
  try {
    mkdirSync(target, { recursive: true });
    for (const directory of tree.directories) makeRealDirectory(join(target, directory));
    await atOnce(tree.files, FILES_AT_ONCE, (file) => receive(copy, file, join(target, file.path)));
    // Last, so that nothing can have been written through them.
    for (const link of tree.links) makeLink(link.target, join(target, link.path));
  } catch (error) {
    if (isNew) await rm(target, { recursive: true, force: true });
    throw error;
  }
  progress.finish(`copied ${tree.files.length === 1 ? "1 file" : `${tree.files.length} files`}`);
  for (const skipped of tree.skipped)
    context.output.note(`skipped ${JSON.stringify(skipped)}: it leads out of the directory, or is not a file`);
}

/** Makes a directory, and fails where a link has its name: files would be written to where the link leads. */
function makeRealDirectory(path: string): void {
  try {
    mkdirSync(path);
  } catch (cause) {
    if (lstatSync(path).isDirectory()) return;
    throw new AppError("already_exists", `${path} exists and is not a directory`, { reason: "local_file", cause });
  }
}

/** Replaces a file or link at its path, as a copied file does; a directory stays, and the link fails. */
function makeLink(target: string, path: string): void {
  const temporary = temporaryName(path);
  try {
    symlinkSync(target, temporary);
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new AppError("already_exists", `cannot make the link ${path}`, { reason: "local_file", cause });
  }
}

const temporaryName = (path: string) => join(dirname(path), `.${basename(path)}.boxyard-${process.pid}`);

/** Writes to a temporary file beside the target and renames it, so that a failed copy leaves only what was there before. */
async function receive({ sandbox, user, progress, context }: Download, file: RemoteFile, target: string): Promise<void> {
  const temporary = temporaryName(target);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, 0o600);
  try {
    const stream = await sandbox.files.read(file.source, { user, signal: context.signal, format: "stream" });
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
