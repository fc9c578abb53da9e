import { posix } from "node:path";
import { withoutTrailing } from "@boxyard/core";
import { BuildFailure } from "../log/build-failure.ts";
import { BUILD_DIRECTORY } from "../stage/build-settings.ts";
import type { BuildState } from "../stage/state.ts";
import { ARCHIVE, LIST, packFrom, type Source } from "./copy-from.ts";
import { COPY_SCRIPT } from "./copy-scripts.ts";
import { ownerInside } from "./empty-image.ts";
import { committed, expanded, ownerOf, type StepContext, type StepKind } from "./step-kind.ts";

/**
 * `[source, destination, owner?, mode?]`, and the hash under which the archive was uploaded, or the template or stage to copy out of. With
 * `sources` it is as in Dockerfiles: root owns what is copied unless an owner is named, and the first argument only says in logs what it is.
 */
export const copy: StepKind = async (args, state, ctx) => {
  await place(args, state, ctx);
  return committed(state, ctx);
};

/** The same without a layer. */
export async function place(
  [source = "", destination = "", owner, mode = ""]: readonly string[],
  state: BuildState,
  ctx: StepContext,
): Promise<void> {
  const { session, part, from, step } = ctx;
  const workspace = await session.workspace(state.image);
  let sources: readonly Source[] | undefined = step.sources?.map(({ path, name, extract }) => ({
    path,
    name: name ?? posix.basename(path),
    extract,
  }));
  if (from) sources = await packFrom(from, { source, patterns: step.sources?.map(({ path }) => path) }, state, ctx);
  else await workspace.putFile(ARCHIVE, await uploaded(source, ctx), session.signal);
  const target = destinationOf(expanded(destination, state), state);
  const named = sources ? bothOf(expanded(owner || "root", state)) : ownerOf(expanded(owner || state.user, state));
  const owners = ctx.root === "" ? named : await ownerInside(named, state, ctx);
  const args = [ARCHIVE, `${BUILD_DIRECTORY}/copy`, withoutPattern(source), ctx.root + target, owners, mode];
  if (sources) {
    if (sources.length > 1 && !target.endsWith("/")) {
      throw new BuildFailure(`COPY ${source}: several files can be copied into a directory only: end ${destination} with '/'`, part.step);
    }
    const lines = sources.map(({ path, name, extract }) => `${extract ? "x" : "-"} ${path}\n${name}\n`);
    await workspace.putFile(LIST, lines.join(""), session.signal);
    args.push(LIST, owner ? "" : "keep");
  }
  await session.script(state.image, COPY_SCRIPT, args, part, `COPY ${source} ${destination}`);
}

/** Owner and group in a Dockerfile: a number alone stands for both. */
const bothOf = (text: string) => (/^\d+$/.test(text) ? `${text}:${text}` : ownerOf(text));

/** The archive that a client has uploaded for the step. */
async function uploaded(source: string, { uploads, teamId, part, step }: StepContext): Promise<Blob> {
  const hash = step.filesHash ?? "";
  if (!uploads.has(teamId, hash)) throw new BuildFailure(`COPY ${source}: its files were not uploaded`, part.step);
  await uploads.touch(teamId, hash);
  return Bun.file(uploads.path(teamId, hash));
}

/** Absolute, with the slash at its end kept: it says that a directory is meant. */
function destinationOf(text: string, state: BuildState): string {
  const path = posix.resolve(state.workdir || "/", text);
  const isDirectory = /(^|\/)\.{0,2}$/.test(text);
  return isDirectory && path !== "/" ? `${path}/` : path;
}

/** The directory that a source's pattern is in, or the source itself where it has none; never outside of the archive. */
export function withoutPattern(source: string): string {
  const clean = withoutTrailing(posix.normalize(`/${source}`).slice(1), "/");
  const parts = clean.split("/");
  const first = parts.findIndex((part) => /[*?[\]{}]/.test(part));
  return (first < 0 ? parts : parts.slice(0, first)).join("/");
}
