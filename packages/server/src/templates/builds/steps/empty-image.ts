import { BuildFailure } from "../log/build-failure.ts";
import { IMAGE_USER, STANDARD_PATH } from "../stage/build-settings.ts";
import type { BuildState } from "../stage/state.ts";
import { WORKDIR_SCRIPT } from "./scripts.ts";
import { committed, ownerOf, type StepContext } from "./step-kind.ts";

/*
 * Steps of a stage `FROM scratch`. Its tree is made below a directory of a sandbox of `base`. The programs of `base` do the work; its users and
 * links do not count for the tree.
 */

/** The environment of an empty image; other builders set the same. */
export const EMPTY_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: STANDARD_PATH };

/** root user group: prints the ids of user and group in the tree, and fails for unknown names. An empty group means the user's group. */
const IDS_SCRIPT = `set -e
id_of() {
  file=$1/etc/$2
  [ -f "$file" ] || file=/dev/null
  awk -F: -v w="$3" '$1 == w || $3 == w { print $3, $4; found = 1; exit } END { if (!found && w ~ /^[0-9]+$/) print w, 0 }' "$file"
}
[ -L "$1/etc" ] && { echo "/etc is a link" >&2; exit 1; }
user=$(id_of "$1" passwd "$2")
if [ -z "$user" ] && [ "$2" = root ]; then user="0 0"; fi
if [ -z "$user" ]; then echo "there is no user '$2' in the image's /etc/passwd: copy one into it, or give a number" >&2; exit 1; fi
group=\${user#* }
if [ -n "$3" ]; then
  group=$(id_of "$1" group "$3")
  if [ -z "$group" ] && [ "$3" = root ]; then group=0; fi
  if [ -z "$group" ]; then echo "there is no group '$3' in the image's /etc/group: copy one into it, or give a number" >&2; exit 1; fi
fi
echo "\${user% *}:\${group%% *}"
`;

/** root name: prints whether the tree's `/etc/passwd` has the user: "none" (there is no such file), "user" or "others". */
const PASSWD_SCRIPT =
  'if [ ! -e "$1/etc/passwd" ]; then echo none; elif grep -q "^$2:" "$1/etc/passwd"; then echo user; else echo others; fi';

/** An owner as ids for `chown`, by the tree's own users and groups. `what` names the act in a failure. */
export async function ownerInside(
  owner: string,
  state: BuildState,
  { session, root, part }: StepContext,
  what = `looking for the owner ${owner}`,
): Promise<string> {
  if (/^\d+:\d+$/.test(owner)) return owner;
  const [user = "", group = ""] = owner.split(":");
  return (await session.script(state.image, IDS_SCRIPT, [root, user, group], part, what)).trim();
}

/**
 * USER: commands of sandboxes run as this user, which is a name of the tree's `/etc/passwd`, or a number where the tree has no such file. If the tree
 * has no user `user`, that name changes nothing: public clients end each Dockerfile with it.
 */
export async function emptyUser(name: string, state: BuildState, ctx: StepContext): Promise<BuildState> {
  const { session, root, part } = ctx;
  const found = (await session.script(state.image, PASSWD_SCRIPT, [root, name], part, `USER ${name}`)).trim();
  if (name === IMAGE_USER && found !== "user") {
    session.warn(part, `the image has no user '${name}': commands run as ${state.user}`);
    return state;
  }
  if (/^\d+$/.test(name) && found !== "none") {
    throw new BuildFailure(`USER ${name} failed: give the user's name, since the image has an /etc/passwd`, part.step);
  }
  await ownerInside(ownerOf(name), state, ctx, `USER ${name}`);
  return { ...state, user: name };
}

/** WORKDIR: makes the directory in the tree if it is missing. */
export async function emptyWorkdir(path: string, state: BuildState, ctx: StepContext): Promise<BuildState> {
  const owner = await ownerInside(ownerOf(state.user), state, ctx);
  const printed = await ctx.session.script(state.image, WORKDIR_SCRIPT, [ctx.root + path, owner], ctx.part, `WORKDIR ${path}`);
  const next = { ...state, workdir: path };
  return printed.includes("unchanged") ? next : committed(next, ctx);
}

/** root archive: packs the whole tree. Gives the root directory to root, because the first step made it for the owner of its files. */
export const COLLECT_SCRIPT = `set -e
mkdir -p -- "$1" "$(dirname -- "$2")"
chown 0:0 -- "$1"
cd -- "$1"
tar --numeric-owner --xattrs --xattrs-include=security.capability -cf "$2" .
`;
