import { open } from "node:fs/promises";
import { posix } from "node:path";
import { isAppError } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import { BuildFailure } from "./build-failure.ts";
import { BUILD_FOLDER } from "./build-settings.ts";
import { COPY_SCRIPT, PACK_EACH_SCRIPT, PACK_SCRIPT } from "./copy-scripts.ts";
import type { BuildState } from "./state.ts";
import { committed, expanded, ownerOf, type StepContext, type StepKind } from "./step-kind.ts";
import { MAX_UPLOAD_BYTES } from "./uploads.ts";
import type { Workspace } from "./workspace.ts";

const ARCHIVE = `${BUILD_FOLDER}/copy.tar`;
const LIST = `${BUILD_FOLDER}/copy.list`;
const MAX_LIST_BYTES = 8 << 20;
const MAX_SAID = 1000;

/** Something to copy, in the archive. */
interface Source {
  readonly path: string;
  /** Under which a file arrives in a folder. */
  readonly name: string;
  readonly extract?: boolean | undefined;
}

/**
 * `[source, destination, owner?, mode?]`, and the hash under which the archive was uploaded, or the template or stage to copy out of. With
 * `sources` it is as in Dockerfiles: root owns what is copied unless an owner is named, and the first argument only says in logs what it is.
 */
export const copy: StepKind = async ([source = "", destination = "", owner, mode = ""], state, ctx) => {
  const { session, part, from, step } = ctx;
  const workspace = await session.workspace(state.image);
  let sources: readonly Source[] | undefined = step.sources?.map(({ path, name, extract }) => ({
    path,
    name: name ?? posix.basename(path),
    extract,
  }));
  if (!from) await workspace.putFile(ARCHIVE, await uploaded(source, ctx), session.signal);
  else if (step.sources)
    sources = await packFrom(
      from,
      source,
      step.sources.map(({ path }) => path),
      workspace,
      ctx,
    );
  else await packFrom(from, source, undefined, workspace, ctx);
  const target = destinationOf(expanded(destination, state), state);
  const owners = sources ? bothOf(expanded(owner || "root", state)) : ownerOf(expanded(owner || state.user, state));
  const args = [ARCHIVE, `${BUILD_FOLDER}/copy`, withoutPattern(source), target, owners, mode];
  if (sources) {
    if (sources.length > 1 && !target.endsWith("/")) {
      throw new BuildFailure(`COPY ${source}: several files can be copied into a folder only: end ${destination} with '/'`, part.step);
    }
    const lines = sources.map(({ path, name, extract }) => `${extract ? "x" : "-"} ${path}\n${name}\n`);
    await workspace.putFile(LIST, lines.join(""), session.signal);
    args.push(LIST, owner ? "" : "keep");
  }
  await session.script(state.image, COPY_SCRIPT, args, part, `COPY ${source} ${destination}`);
  return committed(state, ctx);
};

/** Owner and group in a Dockerfile: a number alone stands for both. */
const bothOf = (text: string) => (/^\d+$/.test(text) ? `${text}:${text}` : ownerOf(text));

/** The archive that a client has uploaded for the step. */
async function uploaded(source: string, { uploads, teamId, part, step }: StepContext): Promise<Blob> {
  const hash = step.filesHash ?? "";
  if (!uploads.has(teamId, hash)) throw new BuildFailure(`COPY ${source}: its files were not uploaded`, part.step);
  await uploads.touch(teamId, hash);
  return Bun.file(uploads.path(teamId, hash));
}

/** Archives files of another image in a sandbox of it, and hands the archive on. With `patterns` it says what they match. */
async function packFrom(
  from: ImageRef,
  source: string,
  patterns: readonly string[] | undefined,
  target: Workspace,
  { session, part, uploads, teamId }: StepContext,
): Promise<Source[] | undefined> {
  const { signal } = session;
  const [script, ...args] = patterns
    ? [PACK_EACH_SCRIPT, ARCHIVE, LIST, ...patterns.map((pattern) => posix.normalize(`/${pattern}`))]
    : [PACK_SCRIPT, ARCHIVE, posix.normalize(`/${source}`).slice(1) || "."];
  return session.beside(from, async (origin) => {
    let said = "";
    const stderr = (bytes: Uint8Array) => {
      if (said.length < MAX_SAID) said += Buffer.from(bytes).toString();
    };
    const request = { cmd: "/bin/sh", args: ["-c", script, "sh", ...args], user: "root", cwd: "/" };
    const { exitCode } = await origin.exec(request, { stderr }, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const why = isAppError(error) ? error.message : "its sandbox could not be reached";
      throw new BuildFailure(`COPY ${source} failed: the image to copy out of must have /bin/sh and tar: ${why}`, part.step, error);
    });
    if (exitCode !== 0) throw new BuildFailure(`COPY ${source} failed: ${said.trim() || `exit status ${exitCode}`}`, part.step);
    await uploads.withPart(teamId, async (path) => {
      await keep(await origin.getFile(ARCHIVE, signal), path);
      await target.putFile(ARCHIVE, Bun.file(path), signal);
    });
    return patterns && sourcesOf(await textOf(await origin.getFile(LIST, signal)), source, part.step);
  });
}

/** The list that the sandbox of another image has written; it may have been another program that did. */
function sourcesOf(list: string, source: string, step: string): Source[] {
  const lines = list.split("\n");
  if (lines.pop() !== "" || lines.length % 2 !== 0) throw new BuildFailure(`COPY ${source} failed: the list of its files is cut off`, step);
  const found: Source[] = [];
  for (let i = 0; i < lines.length; i += 2) {
    const [path, name] = [lines[i]?.slice(2) ?? "", lines[i + 1] ?? ""];
    const isPath = path.startsWith("./") && !path.split("/").includes("..");
    const isName = name !== "." && name !== ".." && !name.includes("/");
    if (!isPath || !isName || (path + name).includes("\0")) {
      throw new BuildFailure(`COPY ${source} failed: the list of its files makes no sense`, step);
    }
    found.push({ path, name });
  }
  return found;
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_LIST_BYTES) throw new BuildFailure("COPY: its pattern matches too many files; copy the folder they are in");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Writes a stream to a new file, within the bound of uploads. */
async function keep(stream: ReadableStream<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    let bytes = 0;
    for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > MAX_UPLOAD_BYTES) throw new BuildFailure("COPY: the files to copy are too large");
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
}

/** Absolute, with the slash at its end kept: it says that a folder is meant. */
function destinationOf(text: string, state: BuildState): string {
  const path = posix.resolve(state.workdir || "/", text);
  const isFolder = /(^|\/)\.{0,2}$/.test(text);
  return isFolder && path !== "/" ? `${path}/` : path;
}

/** The folder that a source's pattern is in, or the source itself where it has none; never outside of the archive. */
export function withoutPattern(source: string): string {
  const clean = posix.normalize(`/${source}`).slice(1).replace(/\/+$/, "");
  const parts = clean.split("/");
  const first = parts.findIndex((part) => /[*?[\]{}]/.test(part));
  return (first < 0 ? parts : parts.slice(0, first)).join("/");
}
