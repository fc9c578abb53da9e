import { AppError } from "@boxyard/core";

export interface TestOptions {
  readonly list: boolean;
  readonly verbose: boolean;
  /** The suite `hostile` attacks the server that runs on `BOXYARD_DATA`. */
  readonly installed: boolean;
  /** Suites by name; empty: all. */
  readonly suites: readonly string[];
  /** Parts of file names. */
  readonly only: readonly string[];
}

/** `[--list] [-v] [--installed] [SUITE|PART-OF-A-FILE-NAME …]`; anything that names no suite picks test files. Throws `invalid_argument`. */
export function parseOptions(argv: readonly string[], suiteNames: readonly string[]): TestOptions {
  const unknown = argv.find((word) => word.startsWith("-") && !["--list", "-v", "--verbose", "--installed"].includes(word));
  if (unknown) {
    throw new AppError("invalid_argument", `Unknown option ${unknown}. Usage: ./boxyard test [--list] [-v] [--installed] [SUITE|FILE …]`);
  }
  const words = argv.filter((word) => !word.startsWith("-"));
  return {
    list: argv.includes("--list"),
    verbose: argv.includes("-v") || argv.includes("--verbose"),
    installed: argv.includes("--installed"),
    suites: words.filter((word) => suiteNames.includes(word)),
    only: words.filter((word) => !suiteNames.includes(word)),
  };
}
