import { AppError } from "@boxyard/core";

export interface BuildOptions {
  /** For x86-64 machines without AVX2. */
  readonly baseline: boolean;
  /** Also when nothing has changed. */
  readonly force: boolean;
}

/** `[--baseline] [--force]`. Throws `invalid_argument`. */
export function parseOptions(argv: readonly string[]): BuildOptions {
  const unknown = argv.find((word) => !["--baseline", "--force"].includes(word));
  if (unknown !== undefined) {
    throw new AppError("invalid_argument", `unknown option ${unknown}; usage: boxyard dist [--baseline] [--force]`, { reason: "usage" });
  }
  return { baseline: argv.includes("--baseline"), force: argv.includes("--force") };
}
