import { AppError } from "@boxyard/core";

export interface TestOptions {
  readonly list: boolean;
  readonly verbose: boolean;
  /** Suites by name; empty: all. */
  readonly suites: readonly string[];
  /** Parts of file names. */
  readonly only: readonly string[];
}

/** `[--list] [-v] [SUITE|PART-OF-A-FILE-NAME …]`; anything that names no suite picks test files. Throws `invalid_argument`. */
export function parseOptions(argv: readonly string[], suiteNames: readonly string[]): TestOptions {
  const unknown = argv.find((word) => word.startsWith("-") && !["--list", "-v", "--verbose"].includes(word));
  if (unknown) {
    throw new AppError("invalid_argument", `Unknown option ${unknown}. Usage: ./boxyard test [--list] [-v] [SUITE|FILE …]`);
  }
  const words = argv.filter((word) => !word.startsWith("-"));
  return {
    list: argv.includes("--list"),
    verbose: argv.includes("-v") || argv.includes("--verbose"),
    suites: words.filter((word) => suiteNames.includes(word)),
    only: words.filter((word) => !suiteNames.includes(word)),
  };
}
