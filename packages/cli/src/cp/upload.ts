import { basename, resolve } from "node:path";
import { atOnce } from "@boxyard/core";
import type { Sandbox, UploadProgress, WriteEntry } from "@boxyard/sdk";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { Progress } from "../output/progress.ts";
import { isContents, kindOf, type LocalFile, type LocalTree, localFile, readLocalTree } from "./local-tree.ts";

const FILES_AT_ONCE = 6;
/** Files up to this size go together in one request. */
const SMALL_FILE_BYTES = 256 * 1024;
/** Size of such a request: what the link takes in about a second, within these bounds. */
const BATCH_BYTES = { least: 64 * 1024, most: 4 * 1024 * 1024 } as const;
const BATCH_FILES = 200;
/** Arguments of one command in the sandbox. */
const ARGUMENTS_AT_ONCE = 500;
/** Mode that the agent gives to uploaded files. */
const DEFAULT_MODE = 0o644;

/** Copies a local file or directory, or with `/.` the content of a directory, to a sandbox. */
export async function upload(
  sandbox: Sandbox,
  source: string,
  target: string,
  user: string | undefined,
  context: CliContext,
): Promise<void> {
  const kind = kindOf(source);
  if (kind === undefined) throw usageError(`there is no ${source}`);
  if (kind === "other") throw usageError(`${source} is neither a file nor a directory`);
  const into = target === "" || target.endsWith("/") || (await isDirectory(sandbox, target, user));
  const directory = target.replace(/\/+$/, "") || (target.startsWith("/") ? "" : ".");
  const path = isContents(source) ? directory : into ? `${directory}/${basename(resolve(source))}` : target;
  const tree: LocalTree =
    kind === "file" ? { directories: [], files: [localFile(source, "")], links: [], skipped: [] } : readLocalTree(resolve(source));
  const at = (below: string) => (below ? `${path}/${below}` : path || "/");
  const total = tree.files.reduce((sum, { size }) => sum + size, 0);
  const progress = new Progress(context.output, basename(resolve(source)), total);
  try {
    if (kind === "directory")
      await atOnce(["", ...tree.directories].map(at), 1, async (directory) => void (await sandbox.files.makeDir(directory, { user })));
    await sendFiles(sandbox, tree.files, at, user, progress);
    await restoreModes(sandbox, tree.files, at, user);
    await makeLinks(sandbox, tree, at, user);
  } catch (error) {
    progress.clear();
    throw error;
  }
  progress.finish(`copied ${tree.files.length === 1 ? "1 file" : `${tree.files.length} files`}`);
  for (const skipped of tree.skipped) context.output.note(`skipped ${skipped}: neither file, directory nor link`);
}

async function isDirectory(sandbox: Sandbox, path: string, user: string | undefined): Promise<boolean> {
  return (await sandbox.files.exists(path, { user })) && (await sandbox.files.getInfo(path, { user })).type === "directory";
}

async function sendFiles(
  sandbox: Sandbox,
  files: readonly LocalFile[],
  at: (path: string) => string,
  user: string | undefined,
  progress: Progress,
) {
  const options = { user, requestTimeoutMs: 0 };
  let batchBytes: number = BATCH_BYTES.least;
  const sendLarge = async (file: LocalFile) => {
    let sent = 0;
    const onProgress = ({ sentBytes }: UploadProgress) => {
      progress.add(sentBytes - sent);
      sent = sentBytes;
    };
    await sandbox.files.write(at(file.path), Bun.file(file.source) as Blob, { ...options, onProgress });
  };
  const send = async (batch: readonly LocalFile[], shares: number) => {
    const [first] = batch;
    if (batch.length === 1 && first) return sendLarge(first);
    const entries: WriteEntry[] = batch.map((file) => ({ path: at(file.path), data: Bun.file(file.source) as Blob }));
    const bytes = batch.reduce((sum, { size }) => sum + size, 0);
    const startedAt = performance.now();
    await sandbox.files.write(entries, options);
    const seconds = ((performance.now() - startedAt) * shares) / 1000;
    batchBytes = Math.min(BATCH_BYTES.most, Math.max(BATCH_BYTES.least, bytes / seconds));
    progress.add(bytes);
  };
  const queue = batches(files, () => batchBytes);
  // The first batch goes alone and measures the speed of the link, which the later batches share.
  const first = queue.next();
  if (!first.done) await send(first.value, FILES_AT_ONCE);
  await atOnce(queue, FILES_AT_ONCE, (batch) => send(batch, 1));
}

/** Large files by themselves, small ones together, up to `limit()` bytes at the time the next batch is taken. */
function* batches(files: readonly LocalFile[], limit: () => number): Generator<LocalFile[], void, undefined> {
  let open: LocalFile[] = [];
  let size = 0;
  for (const file of files) {
    if (file.size > SMALL_FILE_BYTES) {
      yield [file];
      continue;
    }
    if (open.length >= BATCH_FILES || (open.length > 0 && size + file.size > limit())) {
      yield open;
      open = [];
      size = 0;
    }
    open.push(file);
    size += file.size;
  }
  if (open.length > 0) yield open;
}

/** Uploads have one mode; programs must stay executable, and secrets private. */
async function restoreModes(sandbox: Sandbox, files: readonly LocalFile[], at: (path: string) => string, user: string | undefined) {
  const byMode = Map.groupBy(files, ({ mode }) => mode);
  for (const [mode, group] of byMode) {
    if (mode === DEFAULT_MODE) continue;
    const paths = group.map(({ path }) => at(path));
    for (let i = 0; i < paths.length; i += ARGUMENTS_AT_ONCE) {
      await inSandbox(sandbox, ["chmod", mode.toString(8), "--", ...paths.slice(i, i + ARGUMENTS_AT_ONCE)], user);
    }
  }
}

async function makeLinks(sandbox: Sandbox, tree: LocalTree, at: (path: string) => string, user: string | undefined) {
  for (const { path, target } of tree.links) await inSandbox(sandbox, ["ln", "-sfn", "--", target, at(path)], user);
}

async function inSandbox(sandbox: Sandbox, argv: readonly [string, ...string[]], user: string | undefined): Promise<void> {
  const handle = await sandbox.commands.spawn(argv, { user });
  await handle.wait();
}
