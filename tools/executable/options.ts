import { AppError } from "@boxyard/core";

export interface BuildOptions {
  /** For x86-64 machines without AVX2. */
  readonly baseline: boolean;
  /** Make the executable even if nothing has changed. */
  readonly force: boolean;
  /** Make only the packages for npm, not the executable. */
  readonly packagesOnly: boolean;
  /** Make the images for a cluster too. */
  readonly images: boolean;
  readonly help: boolean;
}

export const HELP = `Usage: boxyard dist [options]

Make the files for use outside of this checkout, in dist/: one executable of everything (boxyard), for machines without Node, and the package of the
TypeScript client (boxyard-sdk-VERSION.tgz), for npm and other package managers.

Options:
  --packages   make only the packages
  --images     make images for a cluster too (boxyard-server.tar, boxyard-guest.tar; OCI archives)
  --baseline   make an executable for x86-64 machines without AVX2 (boxyard-baseline)
  --force      make the executable even if nothing has changed
  -h, --help   show help

Examples:
  $ boxyard dist
  $ boxyard dist --images
  $ boxyard dist --packages && npm install ./dist/boxyard-sdk-*.tgz`;

const OPTIONS = {
  "--baseline": "baseline",
  "--force": "force",
  "--packages": "packagesOnly",
  "--images": "images",
  "--help": "help",
  "-h": "help",
} as const;

/** The options of the command line. Throws `invalid_argument`. */
export function parseOptions(argv: readonly string[]): BuildOptions {
  const options = { baseline: false, force: false, packagesOnly: false, images: false, help: false };
  for (const word of argv) {
    const name = OPTIONS[word as keyof typeof OPTIONS];
    if (!name) throw new AppError("invalid_argument", `unknown option ${word}; see boxyard dist --help`, { reason: "usage" });
    options[name] = true;
  }
  return options;
}
