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
 * `[source, destination, owner?, mode?]`, and the hash of the uploaded archive, or the template or stage to copy from. With `sources` the rules of
 * Dockerfiles hold: root owns the copies unless an owner is named, and the first argument is only for the log.
 */
export const copy: StepKind = async (args, state, ctx) => {
  await place(args, state, ctx);
  return committed(state, ctx);
};

/** Copies without making a layer. */
export async function place(
  [source = "", destination = "", owner, mode = ""]: readonly string[],
  state: BuildState,
  ctx: StepContext,
): Promise<void> {
  const { session, part, from, step } = ctx;
  let sources: readonly Source[] | undefined = step.sources?.map(({ path, name, extract }) => ({
    path,
    name: name ?? posix.basename(path),
    extract,
  }));
  if (from) sources = await packFrom(from, { source, patterns: step.sources?.map(({ path }) => path) }, state, ctx);
  else await session.putFile(state.image, ARCHIVE, await uploaded(source, ctx));
  const target = destinationOf(expanded(destination, state), state);
  const named = sources ? bothOf(expanded(owner || "root", state)) : ownerOf(expanded(owner || state.user, state));
  const owners = ctx.root === "" ? named : await ownerInside(named, state, ctx);
  const args = [ARCHIVE, `${BUILD_DIRECTORY}/copy`, withoutPattern(source), ctx.root + target, owners, mode];
  if (sources) {
    if (sources.length > 1 && !target.endsWith("/")) {
      throw new BuildFailure(`COPY ${source}: several files can be copied into a directory only: end ${destination} with '/'`, part.step);
    }
    const lines = sources.map(({ path, name, extract }) => `${extract ? "x" : "-"} ${path}\n${name}\n`);
    await session.putFile(state.image, LIST, lines.join(""));
    args.push(LIST, owner ? "" : "keep");
  }
  await session.script(state.image, COPY_SCRIPT, args, part, `COPY ${source} ${destination}`);
}

/** Owner and group of a Dockerfile's `--chown`: a single number stands for both. */
const bothOf = (text: string) => (/^\d+$/.test(text) ? `${text}:${text}` : ownerOf(text));

/** The archive that a client has uploaded for the step. Throws `BuildFailure` if it is missing. */
async function uploaded(source: string, { uploads, teamId, part, step }: StepContext): Promise<Blob> {
  const hash = step.filesHash ?? "";
  if (!uploads.has(teamId, hash)) throw new BuildFailure(`COPY ${source}: its files were not uploaded`, part.step);
  await uploads.touch(teamId, hash);
  return Bun.file(uploads.path(teamId, hash));
}

/** The absolute destination. A slash at its end is kept, because it means a directory. */
function destinationOf(text: string, state: BuildState): string {
  const path = posix.resolve(state.workdir || "/", text);
  const isDirectory = /(^|\/)\.{0,2}$/.test(text);
  return isDirectory && path !== "/" ? `${path}/` : path;
}

/** The part of a source before its first pattern, or the whole source without a pattern; never outside of the archive. */
export function withoutPattern(source: string): string {
  const clean = withoutTrailing(posix.normalize(`/${source}`).slice(1), "/");
  const parts = clean.split("/");
  const first = parts.findIndex((part) => /[*?[\]{}]/.test(part));
  return (first < 0 ? parts : parts.slice(0, first)).join("/");
}
