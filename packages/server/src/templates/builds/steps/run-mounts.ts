import { posix } from "node:path";
import type { TemplateStep } from "@boxyard/spec/platform";
import { BuildFailure } from "../log/build-failure.ts";
import { BUILD_DIRECTORY } from "../stage/build-settings.ts";
import type { BuildState } from "../stage/state.ts";
import { place } from "./copy-step.ts";
import { FIRST_MISSING } from "./scripts.ts";
import { expanded, type StepContext } from "./step-kind.ts";

type Mount = NonNullable<TemplateStep["mounts"]>[number];

const EMPTY = 'empty() { if [ -d "$1" ] && [ ! -L "$1" ]; then rm -rf -- "$1"/* "$1"/.[!.]* "$1"/..?*; else rm -f -- "$1"; fi; }';

/** target aside: moves the target's content aside, as if the mount hid it. Prints the first missing directory of the path. */
const HIDE_SCRIPT = `set -e
${FIRST_MISSING}
${EMPTY}
if [ -e "$1" ] || [ -L "$1" ]; then
  mkdir -p -- "$(dirname -- "$2")"
  rm -rf -- "$2"
  cp -a -- "$1" "$2"
  empty "$1"
else
  first_missing "$1"
  mkdir -p -- "$(dirname -- "$1")"
fi
printf %s "$missing"
`;

/** target owner mode tar: makes the directory of a cache, with the content of an earlier build. */
const FILL_SCRIPT = `set -e
if [ ! -d "$1" ]; then
  mkdir -p -- "$1"
  chown -- "$2" "$1"
  chmod -- "$3" "$1"
fi
if [ -n "$4" ]; then tar -C "$1" -xf "$4"; rm -f -- "$4"; fi
`;

/** target aside first-directory: removes the mount, and restores the target's content. */
const SHOW_SCRIPT = `set -e
${EMPTY}
empty "$1"
if [ -e "$2" ] || [ -L "$2" ]; then
  if [ -d "$2" ] && [ ! -L "$2" ]; then cp -a -- "$2/." "$1/"; else cp -a -- "$2" "$1"; fi
  rm -rf -- "$2"
elif [ -n "$3" ]; then
  directory=$1
  [ ! -e "$directory" ] || rmdir -- "$directory" 2>/dev/null || :
  while [ "$directory" != "$3" ]; do directory=$(dirname -- "$directory"); rmdir -- "$directory" 2>/dev/null || break; done
fi
`;

/**
 * Runs `work` while the files of `RUN --mount` (kinds `cache` and `bind`) are in their places. They are copies, because a sandbox cannot mount. The
 * earlier content of their targets is restored afterwards, and the copies are not in a layer.
 */
export async function withMounts<T>(state: BuildState, ctx: StepContext, work: () => Promise<T>): Promise<T> {
  const { session, part } = ctx;
  const put: { mount: Mount; target: string; aside: string; missing: string }[] = [];
  for (const [i, mount] of (ctx.step.mounts ?? []).entries()) {
    const target = posix.resolve(state.workdir || "/", expanded(mount.target, state));
    if (target === "/") throw new BuildFailure("RUN --mount: the target must not be /", part.step);
    const aside = `${BUILD_DIRECTORY}/aside/${i}`;
    const missing = await session.script(state.image, HIDE_SCRIPT, [target, aside], part, `the mount ${target}`);
    put.push({ mount, target, aside, missing });
    if (mount.type === "cache") await fill(mount, target, state, ctx);
    else await bind(mount, target, i, state, ctx);
  }
  const result = await work();
  // Not after a failure: the sandbox is removed then.
  for (const { mount, target, aside, missing } of put.reverse()) {
    if (mount.type === "cache" && !mount.readonly) await keep(mount, target, state, ctx);
    await session.script(state.image, SHOW_SCRIPT, [target, aside, missing], part, `taking the mount ${target} away`);
  }
  return result;
}

const TAR = `${BUILD_DIRECTORY}/cache.tar`;

async function fill(mount: Mount, target: string, state: BuildState, { session, part, caches, templateId }: StepContext): Promise<void> {
  const found = await caches.find(templateId, mount.id ?? target);
  if (found !== undefined) await session.putFile(state.image, TAR, Bun.file(found));
  const args = [target, mount.owner ?? "0:0", mount.mode ?? "0755", found === undefined ? "" : TAR];
  await session.script(state.image, FILL_SCRIPT, args, part, `the cache ${target}`);
}

async function keep(mount: Mount, target: string, state: BuildState, { session, part, caches, templateId }: StepContext): Promise<void> {
  await session.script(state.image, 'tar -C "$1" -cf "$2" .', [target, TAR], part, `keeping the cache ${target}`);
  const content = await session.getFile(state.image, TAR);
  if (!(await caches.keep(templateId, mount.id ?? target, content))) session.warn(part, `the cache ${target} is too large to be kept`);
  await session.script(state.image, 'rm -f -- "$1"', [TAR], part, `keeping the cache ${target}`);
}

/** Copies the files of a bind mount like a COPY, from the client's files or from a stage. */
async function bind(mount: Mount, target: string, index: number, state: BuildState, ctx: StepContext): Promise<void> {
  const { filesHash, source = "." } = mount;
  const sources = mount.sources ?? [{ path: posix.normalize(`/${source}`) }];
  const step = { ...ctx.step, sources, ...(filesHash === undefined ? {} : { filesHash }) };
  await place([source, target], state, { ...ctx, step, from: ctx.mounted[index] });
}
