import { posix } from "node:path";
import { BuildFailure } from "../log/build-failure.ts";
import type { BuildState } from "../stage/state.ts";
import { copy } from "./copy-step.ts";
import { EMPTY_ENVIRONMENT, emptyUser, emptyWorkdir } from "./empty-image.ts";
import { expand, variablesOf } from "./expand.ts";
import { withMounts } from "./run-mounts.ts";
import { USER_SCRIPT, WORKDIR_SCRIPT } from "./scripts.ts";
import { withSecrets } from "./secrets.ts";
import { committed, expanded, ownerOf, type StepContext, type StepKind } from "./step-kind.ts";

/** `[command, user?]`; the user is for this step only. */
const run: StepKind = async ([command = "", user], state, ctx) => {
  const own = ctx.step.env ?? {};
  const env = Object.keys(own).length > 0 ? { ...(await withValues(own, state, ctx)), ...state.env } : state.env;
  const as = user || state.user;
  await withMounts(state, ctx, () =>
    withSecrets(state, as, ctx, (secrets) => ctx.session.run({ ...state, env: { ...env, ...secrets } }, command, as, ctx.part)),
  );
  return committed(state, ctx);
};

/** `[name, value, …]`: for later steps, the start command and sandboxes. */
const env: StepKind = async (args, state, ctx) => {
  const added: Record<string, string> = {};
  for (let i = 0; i + 1 < args.length; i += 2) added[args[i] ?? ""] = args[i + 1] ?? "";
  return { ...state, env: { ...state.env, ...(await withValues(added, state, ctx)) } };
};

/** Replaces `$NAME` in texts by variables of the build, else by those of a login shell. */
async function withValues(
  texts: Readonly<Record<string, string>>,
  state: BuildState,
  ctx: StepContext,
): Promise<Readonly<Record<string, string>>> {
  const entries = Object.entries(texts);
  const isUnknown = entries.flatMap(([, text]) => variablesOf(text)).some((name) => !Object.hasOwn(state.env, name));
  const others = isUnknown ? await (ctx.root === "" ? loginEnvironment(state, ctx) : EMPTY_ENVIRONMENT) : {};
  const lookUp = (name: string) => (Object.hasOwn(state.env, name) ? state.env[name] : others[name]);
  return Object.fromEntries(entries.map(([name, text]) => [name, expand(text, lookUp)]));
}

/** Variables of root's login shell (docs/contract/templates.md, Steps). */
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
  if (ctx.root !== "") return emptyWorkdir(target, state, ctx);
  const printed = await ctx.session.script(state.image, WORKDIR_SCRIPT, [target, ownerOf(state.user)], ctx.part, `WORKDIR ${target}`);
  const next = { ...state, workdir: target };
  return printed.includes("unchanged") ? next : committed(next, ctx);
};

/** `[name, "true"?]`. A group after a colon is ignored: the user's own group is used. */
const user: StepKind = async ([text = "", sudo = ""], state, ctx) => {
  const name = expanded(text, state).split(":", 1)[0] ?? "";
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/.test(name))
    throw new BuildFailure(`USER: '${name.slice(0, 100)}' cannot be a user's name`, ctx.part.step);
  if (ctx.root !== "") return emptyUser(name, state, ctx);
  const printed = await ctx.session.script(state.image, USER_SCRIPT, [name, sudo], ctx.part, `USER ${name}`);
  const lines = printed.trim().split("\n");
  const found = lines.at(-1)?.split(" ")[0] || name;
  const next = { ...state, user: found };
  return lines.includes("unchanged") ? next : committed(next, ctx);
};

/** The kinds of steps by type. ADD is the same as COPY, and ARG the same as ENV (docs/contract/templates.md, Steps). */
const KINDS: Readonly<Record<string, StepKind>> = { RUN: run, COPY: copy, ADD: copy, ENV: env, ARG: env, WORKDIR: workdir, USER: user };
export const STEP_TYPES = Object.keys(KINDS);

/** Runs a step of the type that it names. Throws `BuildFailure`. */
export function runStep(state: BuildState, ctx: StepContext): Promise<BuildState> {
  const { step } = ctx;
  const kind = Object.hasOwn(KINDS, step.type) ? KINDS[step.type] : undefined;
  if (!kind) throw new BuildFailure(`${step.type} is not a step this server knows`, ctx.part.step);
  return kind(step.args, state, ctx);
}
