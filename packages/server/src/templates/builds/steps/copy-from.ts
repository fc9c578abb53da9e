import { open } from "node:fs/promises";
import { posix } from "node:path";
import type { ImageRef } from "@boxyard/driver";
import { BuildFailure } from "../log/build-failure.ts";
import { BUILD_DIRECTORY } from "../stage/build-settings.ts";
import type { Session } from "../stage/session.ts";
import type { BuildState } from "../stage/state.ts";
import { MAX_UPLOAD_BYTES } from "../uploads.ts";
import { PACK_EACH_SCRIPT, PACK_SCRIPT, UNPACK_LAYER_SCRIPT } from "./copy-scripts.ts";
import type { StepContext } from "./step-kind.ts";

/** Files in the build's sandbox: the archive to copy, and the list of its sources. */
export const ARCHIVE = `${BUILD_DIRECTORY}/copy.tar`;
export const LIST = `${BUILD_DIRECTORY}/copy.list`;
const LAYER = `${BUILD_DIRECTORY}/layer.tar`;
const UNPACKED = `${BUILD_DIRECTORY}/image`;
const MAX_LIST_BYTES = 8 << 20;
const MAX_SAID = 1000;

/** A source in the archive. */
export interface Source {
  readonly path: string;
  /** Name of the file in the destination, if that is a directory. */
  readonly name: string;
  readonly extract?: boolean | undefined;
}

interface Wanted {
  readonly source: string;
  /** Patterns of a Dockerfile, in place of the source. */
  readonly patterns: readonly string[] | undefined;
}

/** Puts an archive of files of another image into the build's sandbox. With `patterns`, returns the files that match. */
export async function packFrom(from: ImageRef, wanted: Wanted, state: BuildState, ctx: StepContext): Promise<Source[] | undefined> {
  const { session, part } = ctx;
  const packed = await session.beside(from, (origin) => packIn(origin, from, wanted, state, ctx));
  if (packed !== undefined) return packed === "packed" ? undefined : packed;
  // The image has no shell or no tar: its layers are unpacked in the build's sandbox, which has both.
  for (const layer of from.layers) {
    await handOn(await session.layerTar(layer), LAYER, state, ctx);
    await session.script(state.image, UNPACK_LAYER_SCRIPT, [LAYER, UNPACKED], part, `COPY ${wanted.source}`);
  }
  const [script, ...args] = packing(wanted, UNPACKED);
  await session.script(state.image, script, args, part, `COPY ${wanted.source}`);
  const sources = wanted.patterns && sourcesOf(await textOf(await session.getFile(state.image, LIST)), wanted.source, part.step);
  await session.script(state.image, 'rm -rf -- "$1"', [UNPACKED], part, `COPY ${wanted.source}`);
  return sources;
}

/** The script that packs, with its arguments. */
function packing({ source, patterns }: Wanted, root: string): readonly [script: string, ...args: string[]] {
  if (!patterns) return [PACK_SCRIPT, ARCHIVE, root, posix.normalize(`/${source}`).slice(1) || "."];
  return [PACK_EACH_SCRIPT, ARCHIVE, root, LIST, ...patterns.map((pattern) => posix.normalize(`/${pattern}`))];
}

/** Archives files in a sandbox of their image, and copies the archive to the build's sandbox. Undefined: the image has no shell or no tar. */
async function packIn(
  origin: Session,
  from: ImageRef,
  wanted: Wanted,
  state: BuildState,
  ctx: StepContext,
): Promise<Source[] | "packed" | undefined> {
  const { session, part } = ctx;
  const { signal } = session;
  const has = { cmd: "/bin/sh", args: ["-c", "command -v tar && command -v readlink"], user: "root", cwd: "/" };
  const canPack = await origin.exec(from, has, {}).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
  signal.throwIfAborted();
  if (!canPack) return undefined;
  let said = "";
  const stderr = (bytes: Uint8Array) => {
    if (said.length < MAX_SAID) said += Buffer.from(bytes).toString();
  };
  const [script, ...args] = packing(wanted, "");
  const request = { cmd: "/bin/sh", args: ["-c", script, "sh", ...args], user: "root", cwd: "/" };
  const { exitCode } = await origin.exec(from, request, { stderr });
  if (exitCode !== 0) throw new BuildFailure(`COPY ${wanted.source} failed: ${said.trim() || `exit status ${exitCode}`}`, part.step);
  await handOn(await origin.getFile(from, ARCHIVE), ARCHIVE, state, ctx);
  return wanted.patterns ? sourcesOf(await textOf(await origin.getFile(from, LIST)), wanted.source, part.step) : "packed";
}

/** Writes a stream to a file of the build's sandbox. */
async function handOn(stream: ReadableStream<Uint8Array>, to: string, state: BuildState, { session, uploads, teamId }: StepContext) {
  await uploads.withPart(teamId, async (path) => {
    await keep(stream, path);
    await session.putFile(state.image, to, Bun.file(path));
  });
}

/** Parses the list that a sandbox has written. The list is not trusted: any program of the image may have written it. */
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
    if (bytes > MAX_LIST_BYTES) throw new BuildFailure("COPY: its pattern matches too many files; copy the directory they are in");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Writes a stream to a new file, of at most `MAX_UPLOAD_BYTES`. */
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
