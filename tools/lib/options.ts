import { AppError } from "@boxyard/core";
import type { Tier } from "../suites/tiers.ts";

export const HELP = `Usage: ./boxyard test [options] [SUITE|FILE …]

Run the tests of this checkout: all of them, the suites that are named, or the test files whose path contains a word. The last line is always
"N passed, N failed, N skipped".

Options:
  --list         list the suites, what each one proves, and which tiers run it
  --quick        only what finds most mistakes in three minutes
  --long=SECONDS only what needs as long as it is given: every fault, chaos and soak for so many seconds
  -v, --verbose  also show the output of tests that pass
  --installed    let the suite hostile attack the server that runs on BOXYARD_DATA
  -h, --help     show help

Examples:
  $ ./boxyard test --quick
  $ ./boxyard test lint types unit
  $ ./boxyard test e2e/cli`;

export interface TestOptions {
  readonly help: boolean;
  readonly list: boolean;
  readonly verbose: boolean;
  /** The suite `hostile` attacks the server that runs on `BOXYARD_DATA`. */
  readonly installed: boolean;
  readonly tier: Tier;
  /** The time for the tier `long`. */
  readonly seconds: number | undefined;
  /** Suites by name; empty: all of the tier. */
  readonly suites: readonly string[];
  /** Parts of file names. */
  readonly only: readonly string[];
}

const KNOWN = ["--list", "--quick", "-v", "--verbose", "--installed", "-h", "--help"];
const LONG = /^--long=([1-9]\d{0,5})$/;

/** `[--list] [--quick|--long=SECONDS] [-v] [--installed] [SUITE|PART-OF-A-FILE-NAME …]`: a word that is not the name of a suite picks test files. Throws `invalid_argument`. */
export function parseOptions(argv: readonly string[], suiteNames: readonly string[]): TestOptions {
  const unknown = argv.find((word) => word.startsWith("-") && !KNOWN.includes(word) && !LONG.test(word));
  if (unknown) {
    throw new AppError(
      "invalid_argument",
      `Unknown option ${unknown}. Usage: ./boxyard test [--list] [--quick|--long=SECONDS] [-v] [--installed] [SUITE|FILE …]`,
    );
  }
  const seconds = argv.flatMap((word) => LONG.exec(word)?.[1] ?? [])[0];
  const words = argv.filter((word) => !word.startsWith("-"));
  return {
    help: argv.includes("-h") || argv.includes("--help"),
    list: argv.includes("--list"),
    verbose: argv.includes("-v") || argv.includes("--verbose"),
    installed: argv.includes("--installed"),
    tier: seconds !== undefined ? "long" : argv.includes("--quick") ? "quick" : "all",
    seconds: seconds === undefined ? undefined : Number(seconds),
    suites: words.filter((word) => suiteNames.includes(word)),
    only: words.filter((word) => !suiteNames.includes(word)),
  };
}
