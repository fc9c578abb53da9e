import { AppError } from "@boxyard/core";

export interface BuildOptions {
  /** For x86-64 machines without AVX2. */
  readonly baseline: boolean;
  /** Also when nothing has changed. */
  readonly force: boolean;
  /** Not the executable, only the packages for npm. */
  readonly packagesOnly: boolean;
  readonly help: boolean;
}

export const HELP = `Usage: boxyard dist [options]

Make the files for use outside of this checkout, in dist/: one executable of everything (boxyard), for machines without Node, and the package of the
TypeScript client (boxyard-sdk-VERSION.tgz), for npm and other package managers.

Options:
  --packages   only the packages
  --baseline   an executable for x86-64 machines without AVX2 (boxyard-baseline)
  --force      make the executable also when nothing has changed
  -h, --help   show help

Examples:
  $ boxyard dist
  $ boxyard dist --packages && npm install ./dist/boxyard-sdk-*.tgz`;

const OPTIONS = { "--baseline": "baseline", "--force": "force", "--packages": "packagesOnly", "--help": "help", "-h": "help" } as const;

/** The options of the command line. Throws `invalid_argument`. */
export function parseOptions(argv: readonly string[]): BuildOptions {
  const options = { baseline: false, force: false, packagesOnly: false, help: false };
  for (const word of argv) {
    const name = OPTIONS[word as keyof typeof OPTIONS];
    if (!name) throw new AppError("invalid_argument", `unknown option ${word}; see boxyard dist --help`, { reason: "usage" });
    options[name] = true;
  }
  return options;
}
