import { type BigIntStats, closeSync, lstatSync, type Stats, statSync } from "node:fs";
import { posix } from "node:path";
import type { AppError } from "@boxyard/core";
import { type AgentContext, type HttpCall, httpFailure, type SystemUser } from "../../contracts.ts";
import { actingName, lookUpUser } from "../access.ts";
import { ensureDir, type PinnedDir } from "../path/pinned-dir.ts";
import { baseName, resolvePath } from "../path/resolve-path.ts";
import { StagedFile, staged } from "../staged-file.ts";
import { errnoOf, fileError, guarded } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";
import { Appender } from "./append.ts";
import { type ComposeRequest, readComposeRequest } from "./request.ts";
import { checkSource, checkUnchanged, deleteSource, madeUp, openSource, type Source, sameFile } from "./sources.ts";

/**
 * `POST /files/compose` (docs/contract/agent.md, Composition): several files become one, in the order given, inside the kernel. Nothing is
 * written before everything is checked; the destination changes at once and whole; sources go away only after that.
 */
export async function compose(ctx: AgentContext, call: HttpCall): Promise<Response> {
  const claim = ctx.bodies.claim();
  try {
    return await run(ctx, await readComposeRequest(call.request, claim));
  } finally {
    claim.release();
  }
}

async function run(ctx: AgentContext, request: ComposeRequest): Promise<Response> {
  const user = lookUpUser(ctx, actingName(ctx, request.username));
  const destination = resolvePath(ctx.state, user, request.destination);
  // Examined first, because the sources are compared with it; its error comes last, as the contract orders the checks.
  const { existing, refusal } = lookAtDestination(destination);
  const sources: Source[] = [];
  await each(request.sourcePaths, (given) => {
    const path = resolvePath(ctx.state, user, given);
    if (isDestination(path, destination, existing)) throw sameAsDestination(given);
    const source = checkSource(given, path);
    if (existing && sameFile(source.file, existing)) throw sameAsDestination(given);
    sources.push(source);
  });
  if (refusal) throw refusal;
  await write(destination, sources, user);
  await each(sources, deleteSource);
  return Response.json({ path: destination, name: baseName(destination), type: "file" });
}

/** Calls `work`, which is synchronous, for each item, and lets other requests run in between. */
async function each<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  const slice = new TimeSlice();
  for (const item of items) {
    work(item);
    const turn = slice.turn();
    if (turn) await turn;
  }
}

function sameAsDestination(given: string) {
  return httpFailure(400, `source path "${given}" cannot be the same as destination`);
}

interface Destination {
  /** The file that it names now, links followed. */
  readonly existing?: BigIntStats;
  /** Why no file can be made there. */
  readonly refusal?: AppError;
}

function lookAtDestination(path: string): Destination {
  const name = baseName(path);
  if (path.endsWith("/") || name === "." || name === "..") return { refusal: httpFailure(400, `destination is a directory: ${path}`) };
  try {
    const stat = statSync(path, { bigint: true });
    if (stat.isFile()) return { existing: stat };
    const what = stat.isDirectory() ? "a directory" : "not a regular file";
    return { refusal: httpFailure(400, `destination is ${what}: ${path}`) };
  } catch (error) {
    return errnoOf(error) === "ENOENT" ? {} : { refusal: fileError(`look at destination '${path}'`, error) };
  }
}

/** Whether both paths name the same entry, also before it exists: `/a/./b`, or through a linked directory. */
function isDestination(path: string, destination: string, existing: BigIntStats | undefined): boolean {
  if (path === destination) return true;
  if (existing || baseName(path) !== baseName(destination)) return false;
  try {
    const [a, b] = [posix.dirname(path), posix.dirname(destination)].map((dir) => statSync(dir, { bigint: true }));
    return a !== undefined && b !== undefined && sameFile(a, b);
  } catch {
    return false;
  }
}

async function write(destination: string, sources: readonly Source[], user: SystemUser): Promise<void> {
  const what = `compose '${destination}'`;
  const dir = guarded(what, () => openParent(destination, user));
  try {
    const name = baseName(destination);
    const file = guarded(what, () => StagedFile.create({ dir, name, existing: regular(dir, name), mayOverwrite: false }));
    await staged(file, what, async () => {
      const appender = new Appender(file.fd);
      for (const source of sources) await append(source, appender);
      await each(sources, checkUnchanged);
      file.finish(user, {});
      file.commit();
    });
  } finally {
    dir.close();
  }
}

function openParent(destination: string, user: SystemUser): PinnedDir {
  try {
    return ensureDir(posix.dirname(destination), user);
  } catch (error) {
    if (errnoOf(error) === "ENOTDIR") throw httpFailure(400, `a part of the path is not a directory: ${destination}`, error);
    throw error;
  }
}

/** The file whose mode is kept. A link at the destination is replaced itself, as rename(2) does. */
function regular(dir: PinnedDir, name: string): Stats | undefined {
  const stat = lstatSync(dir.at(name), { throwIfNoEntry: false });
  return stat?.isFile() ? stat : undefined;
}

async function append(source: Source, appender: Appender): Promise<void> {
  const fd = openSource(source);
  try {
    const length = Number(source.file.size);
    if ((await appender.append(fd, length)) === length) return;
    checkUnchanged(source);
    throw madeUp(source.given);
  } finally {
    closeSync(fd);
  }
}
