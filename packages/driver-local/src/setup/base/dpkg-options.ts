import { quoted } from "./shell.ts";

/** Where dpkg reads the recipe's options, in the build and in sandboxes. */
const OPTIONS_FILE = "etc/dpkg/dpkg.cfg.d/excludes";

/**
 * The shell command that gives a tree, its first argument, the options of dpkg, once the essential packages are extracted and before dpkg runs. dpkg obeys
 * `path-exclude` and `path-include` for what it installs. What was extracted before is removed here by the same patterns, which mean for `find -path`
 * what they mean for dpkg (dpkg(1)). `--dpkgopt` of mmdebstrap would do the same by a filter in Python for each package, in eight seconds.
 */
export function afterExtraction(options: readonly string[]): string {
  const of = (name: string) =>
    options.flatMap((option) => (option.startsWith(`${name}=/`) ? [quoted(`.${option.slice(name.length + 1)}`)] : []));
  const anyOf = (patterns: readonly string[]) => `\\( -false ${patterns.map((pattern) => `-o -path ${pattern}`).join(" ")} \\)`;
  const excluded = `${anyOf(of("path-exclude"))} ! ${anyOf(of("path-include"))}`;
  return [
    'cd "$1"',
    `printf '%s\\n' ${options.map(quoted).join(" ")} >${OPTIONS_FILE}`,
    `find . ! -type d ${excluded} -delete`,
    `find . -depth -type d ${excluded} -empty -delete`,
  ].join(" && ");
}
