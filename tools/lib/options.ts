import { AppError } from "@boxyard/core";

export const HELP = `Usage: ./boxyard test [options] [SUITE|FILE …]

Run the tests of this checkout: all of them, the suites that are named, or the test files whose path contains a word. The last line is always
"N passed, N failed, N skipped".

Options:
  --list         list the suites, and what each one proves
  -v, --verbose  also show the output of tests that pass
  --installed    let the suite hostile attack the server that runs on BOXYARD_DATA
  -h, --help     show help

Examples:
  $ ./boxyard test lint types unit
  $ ./boxyard test e2e/cli`;

export interface TestOptions {
  readonly help: boolean;
  readonly list: boolean;
  readonly verbose: boolean;
  /** The suite `hostile` attacks the server that runs on `BOXYARD_DATA`. */
  readonly installed: boolean;
  /** Suites by name; empty: all. */
  readonly suites: readonly string[];
  /** Parts of file names. */
  readonly only: readonly string[];
}

/** `[--list] [-v] [--installed] [SUITE|PART-OF-A-FILE-NAME …]`: a word that is not the name of a suite picks test files. Throws `invalid_argument`. */
export function parseOptions(argv: readonly string[], suiteNames: readonly string[]): TestOptions {
  const unknown = argv.find((word) => word.startsWith("-") && !["--list", "-v", "--verbose", "--installed", "-h", "--help"].includes(word));
  if (unknown) {
    throw new AppError("invalid_argument", `Unknown option ${unknown}. Usage: ./boxyard test [--list] [-v] [--installed] [SUITE|FILE …]`);
  }
  const words = argv.filter((word) => !word.startsWith("-"));
  return {
    help: argv.includes("-h") || argv.includes("--help"),
    list: argv.includes("--list"),
    verbose: argv.includes("-v") || argv.includes("--verbose"),
    installed: argv.includes("--installed"),
    suites: words.filter((word) => suiteNames.includes(word)),
    only: words.filter((word) => !suiteNames.includes(word)),
  };
}
