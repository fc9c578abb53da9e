import { open } from "node:fs/promises";
import { posix } from "node:path";
import type { TeamId } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { TemplateStep } from "@boxyard/spec/platform";
import { BuildFailure } from "./build-failure.ts";
import { BUILD_FOLDER } from "./build-settings.ts";
import { expand, variablesOf } from "./expand.ts";
import { COPY_SCRIPT, PACK_SCRIPT, USER_SCRIPT, WORKDIR_SCRIPT } from "./scripts.ts";
import type { Part, Session } from "./session.ts";
import type { BuildState } from "./state.ts";
import { MAX_UPLOAD_BYTES, type Uploads } from "./uploads.ts";
import type { Workspace } from "./workspace.ts";

export interface StepContext {
  readonly session: Session;
  readonly uploads: Uploads;
  readonly teamId: TeamId;
  readonly part: Part;
  readonly step: TemplateStep;
  /** Image that a COPY takes its files out of, in place of an upload. */
  readonly from?: ImageRef | undefined;
}

/** What a step comes to. Without a new image it has changed no file. */
type StepKind = (args: readonly string[], state: BuildState, ctx: StepContext) => Promise<BuildState>;

const committed = async (state: BuildState, { session }: StepContext): Promise<BuildState> => ({
  ...state,
  image: await session.commit(state.image),
});

/** `[command, user?]`; the user is for this step only. */
const run: StepKind = async ([command = "", user], state, ctx) => {
  await ctx.session.run(state, command, user || state.user, ctx.part);
  return committed(state, ctx);
};

/** `[name, value, …]`: for later steps, the start command and sandboxes. */
const env: StepKind = async (args, state, ctx) => {
  const names = new Set(
    args.flatMap((value, i) => (i % 2 === 1 ? variablesOf(value) : [])).filter((name) => !Object.hasOwn(state.env, name)),
  );
  const others = names.size > 0 ? await loginEnvironment(state, ctx) : {};
  const lookUp = (name: string) => (Object.hasOwn(state.env, name) ? state.env[name] : others[name]);
  const added: Record<string, string> = {};
  for (let i = 0; i + 1 < args.length; i += 2) added[args[i] ?? ""] = expand(args[i + 1] ?? "", lookUp);
  return { ...state, env: { ...state.env, ...added } };
};

/** Variables of a login shell of root's (wire.md 5.2). */
async function loginEnvironment(state: BuildState, { session, part }: StepContext): Promise<Record<string, string>> {
  const script = 'shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash; exec "$shell" -l -c "env -0"';
  const printed = await session.script(state.image, script, [], part, "reading the environment");
  return Object.fromEntries(
    printed.split("\0").flatMap((pair) => {
      const at = pair.indexOf("=");
      return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : [];
    }),
  );
}

/** `[path]`, relative to the working directory so far. */
const workdir: StepKind = async ([path = ""], state, ctx) => {
  const target = posix.resolve(state.workdir || "/", expanded(path, state));
  const printed = await ctx.session.script(state.image, WORKDIR_SCRIPT, [target, ownerOf(state.user)], ctx.part, `WORKDIR ${target}`);
  const next = { ...state, workdir: target };
  return printed.includes("unchanged") ? next : committed(next, ctx);
};

/** `[name, "true"?]`. A group after a colon is not used: the user's own is. */
const user: StepKind = async ([text = "", sudo = ""], state, ctx) => {
  const name = expanded(text, state).split(":", 1)[0] ?? "";
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/.test(name))
    throw new BuildFailure(`USER: '${name.slice(0, 100)}' cannot be a user's name`, ctx.part.step);
  const printed = await ctx.session.script(state.image, USER_SCRIPT, [name, sudo], ctx.part, `USER ${name}`);
  const lines = printed.trim().split("\n");
  const found = lines.at(-1)?.split(" ")[0] || name;
  const next = { ...state, user: found };
  return lines.includes("unchanged") ? next : committed(next, ctx);
};

/** `[source, destination, owner?, mode?]`, and the hash under which the archive was uploaded or the template to copy out of. */
const copy: StepKind = async ([source = "", destination = "", owner, mode = ""], state, ctx) => {
  const { session, part, from } = ctx;
  const workspace = await session.workspace(state.image);
  if (from) await packFrom(from, source, workspace, ctx);
  else await workspace.putFile(ARCHIVE, await uploaded(source, ctx), session.signal);
  const target = destinationOf(expanded(destination, state), state);
  const args = [ARCHIVE, `${BUILD_FOLDER}/copy`, withoutPattern(source), target, ownerOf(expanded(owner || state.user, state)), mode];
  await session.script(state.image, COPY_SCRIPT, args, part, `COPY ${source} ${destination}`);
  return committed(state, ctx);
};

const ARCHIVE = `${BUILD_FOLDER}/copy.tar`;

/** The archive that a client has uploaded for the step. */
async function uploaded(source: string, { uploads, teamId, part, step }: StepContext): Promise<Blob> {
  const hash = step.filesHash ?? "";
  if (!uploads.has(teamId, hash)) throw new BuildFailure(`COPY ${source}: its files were not uploaded`, part.step);
  await uploads.touch(teamId, hash);
  return Bun.file(uploads.path(teamId, hash));
}

/** Archives files of another image in a sandbox of it, and hands the archive on. */
async function packFrom(from: ImageRef, source: string, target: Workspace, { session, part, uploads, teamId }: StepContext): Promise<void> {
  const { signal } = session;
  const pattern = posix.normalize(`/${source}`).slice(1) || ".";
  await session.beside(from, async (origin) => {
    let said = "";
    const stderr = (bytes: Uint8Array) => {
      if (said.length < 1000) said += Buffer.from(bytes).toString();
    };
    const request = { cmd: "/bin/sh", args: ["-c", PACK_SCRIPT, "sh", ARCHIVE, pattern], user: "root", cwd: "/" };
    const { exitCode } = await origin.exec(request, { stderr }, signal);
    if (exitCode !== 0) throw new BuildFailure(`COPY ${source} failed: ${said.trim() || `exit status ${exitCode}`}`, part.step);
    await uploads.withPart(teamId, async (path) => {
      await keep(await origin.getFile(ARCHIVE, signal), path);
      await target.putFile(ARCHIVE, Bun.file(path), signal);
    });
  });
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

/** As chown takes it: a user's name alone stands for its group too. */
const ownerOf = (text: string) => (text.includes(":") || /^\d+$/.test(text) ? text : `${text}:`);

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

const expanded = (text: string, state: BuildState) =>
  expand(text, (name) => (Object.hasOwn(state.env, name) ? state.env[name] : undefined));

/** By the step's type; ADD and ARG are as COPY and ENV (wire.md 5.2). */
const KINDS: Readonly<Record<string, StepKind>> = { RUN: run, COPY: copy, ADD: copy, ENV: env, ARG: env, WORKDIR: workdir, USER: user };
export const STEP_TYPES = Object.keys(KINDS);

export function runStep(state: BuildState, ctx: StepContext): Promise<BuildState> {
  const { step } = ctx;
  const kind = Object.hasOwn(KINDS, step.type) ? KINDS[step.type] : undefined;
  if (!kind) throw new BuildFailure(`${step.type} is not a step this server knows`, ctx.part.step);
  return kind(step.args, state, ctx);
}
