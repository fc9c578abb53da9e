/** Covers programs, wherever they are found, in a mount namespace of its own, which ends with the command. */
const HIDE = `
names=$1; shift
for name in $names; do
  while path=$(command -v "$name"); do mount --bind /dev/null "$(readlink -f "$path")" || exit 1; done
done
exec "$@"
`;

/** The command as on a machine that lacks some programs. */
export function withoutPrograms(names: readonly string[], argv: readonly string[]): string[] {
  return ["unshare", "--mount", "sh", "-c", HIDE, "sh", names.join(" "), ...argv];
}
