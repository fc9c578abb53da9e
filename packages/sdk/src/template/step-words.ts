import { shellWord } from "./shell-word.ts";
import type { CopyOpts } from "./template-opts.ts";

/* The texts that a template's steps are made of. */

/** Installs packages without questions. */
const APT = "DEBIAN_FRONTEND=noninteractive apt-get";

export const listOf = (texts: string | readonly string[]): readonly string[] => (typeof texts === "string" ? [texts] : texts);

const words = (texts: string | readonly string[]): string => listOf(texts).map(shellWord).join(" ");

export const aptInstall = (packages: string | readonly string[]): string[] => [
  `${APT} update`,
  `${APT} install -y --no-install-recommends ${words(packages)}`,
  "rm -rf /var/lib/apt/lists/*",
];

export const pipInstall = (packages: string | readonly string[]): string =>
  `pip install --no-cache-dir --break-system-packages ${words(packages)}`;

export const npmInstall = (packages: string | readonly string[], isGlobal = false): string =>
  `npm install --no-audit --no-fund ${isGlobal ? "--global " : ""}${words(packages)}`.trimEnd();

/** Arguments of a COPY step: source, destination, owner, and mode in octal digits. */
export const copyArgs = (source: string, destination: string, { user = "", mode }: CopyOpts): string[] => [
  ...[source, destination, user],
  mode === undefined ? "" : `0${mode.toString(8)}`,
];
