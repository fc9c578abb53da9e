import { posix } from "node:path";
import type { TemplateStep } from "@boxyard/spec/platform";
import { BuildFailure } from "../log/build-failure.ts";
import { BUILD_DIRECTORY } from "../stage/build-settings.ts";
import type { BuildState } from "../stage/state.ts";
import { FIRST_MISSING } from "./scripts.ts";
import { ownerOf, type StepContext } from "./step-kind.ts";

/** Shorter lines of secrets are not masked, because they would match parts of ordinary words. */
const MIN_MASKED = 4;
const MASK = "***";

/** file target owner mode: links the target to a secret's file. Prints the first directory that it made. */
const LEND_SCRIPT = `set -e
${FIRST_MISSING}
if [ -e "$2" ] || [ -L "$2" ]; then echo "$2 is there already, so no secret can be put there" >&2; exit 1; fi
chown -- "$3" "$1"
chmod -- "$4" "$1"
first_missing "$(dirname -- "$2")"
mkdir -p -- "$(dirname -- "$2")"
ln -s -- "$1" "$2"
printf %s "$missing"
`;

/** file target first-directory: removes the link, the file and the directories that LEND_SCRIPT made, unless they have other content now. */
const TAKE_SCRIPT = `rm -f -- "$1" "$2"
directory=$(dirname -- "$2")
while [ -n "$3" ] && rmdir -- "$directory" 2>/dev/null && [ "$directory" != "$3" ]; do directory=$(dirname -- "$directory"); done
[ ! -e "$1" ] && [ ! -L "$2" ]
`;

/** Runs `work` while the secrets of a step are in place: as files of the step's user, or in `env`. The files are removed afterwards. Throws `BuildFailure` for a required secret that is missing. */
export async function withSecrets<T>(
  state: BuildState,
  user: string,
  ctx: StepContext,
  work: (env: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const { session, part, secrets } = ctx;
  const env: Record<string, string> = {};
  const lent: { file: string; target: string; directory: string }[] = [];
  for (const [i, wanted] of (ctx.step.secrets ?? []).entries()) {
    const value = Object.hasOwn(secrets, wanted.id) ? secrets[wanted.id] : undefined;
    if (value === undefined && !wanted.required) continue;
    if (value === undefined) throw new BuildFailure(`the secret '${wanted.id}' was not given to this build`, part.step);
    if (wanted.env !== undefined) env[wanted.env] = value;
    if (wanted.env !== undefined && wanted.target === undefined) continue;
    const file = `${BUILD_DIRECTORY}/secrets/${i}`;
    const target = posix.resolve(state.workdir || "/", wanted.target ?? `/run/secrets/${wanted.id}`);
    await session.putFile(state.image, file, value);
    const args = [file, target, ownerOf(user), wanted.mode ?? "0400"];
    lent.push({ file, target, directory: await session.script(state.image, LEND_SCRIPT, args, part, `the secret '${wanted.id}'`) });
  }
  const result = await work(env);
  // Not after a failure: the sandbox is removed then.
  for (const { file, target, directory } of lent.reverse()) {
    await session.script(state.image, TAKE_SCRIPT, [file, target, directory], part, "taking a secret away");
  }
  return result;
}

/** A function that masks secrets in lines of a log. */
export function masker(secrets: readonly string[]): (line: string) => string {
  const lines = secrets.flatMap((value) => value.split(/\r?\n/).map((line) => line.trim()));
  const masked = [...new Set(lines.filter((line) => line.length >= MIN_MASKED))].sort((a, b) => b.length - a.length);
  if (masked.length === 0) return (line) => line;
  return (line) => masked.reduce((text, secret) => text.replaceAll(secret, MASK), line);
}

/** The part of a step's key for its secrets: their ids and places, not their values. */
export const secretsKey = ({ secrets }: TemplateStep) => (secrets && secrets.length > 0 ? { secrets } : {});
