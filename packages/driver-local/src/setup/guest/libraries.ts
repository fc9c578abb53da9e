import { AppError } from "@boxyard/core";

export interface Libraries {
  /** The dynamic loader. */
  readonly loader: string;
  /** Path of each library by the name that programs ask for. */
  readonly byName: ReadonlyMap<string, string>;
}

/** Reads the output of `ldd`. The kernel's own `linux-vdso` has no file. Anything not found is `failed_precondition`. */
export function parseLdd(output: string): Libraries {
  const byName = new Map<string, string>();
  let loader: string | undefined;
  for (const line of output.split("\n")) {
    const missing = /^\s*(\S+) => not found/.exec(line)?.[1];
    if (missing)
      throw new AppError("failed_precondition", `the agent needs ${missing}, which this machine lacks`, { reason: "no_library" });
    const named = /^\s*(\S+) => (\/\S+) \(0x/.exec(line);
    if (named?.[1] && named[2]) byName.set(named[1], named[2]);
    const bare = /^\s*(\/\S+) \(0x/.exec(line)?.[1];
    if (bare) loader = bare;
  }
  if (loader === undefined) throw new AppError("internal", "ldd shows no dynamic loader for the agent", { reason: "bad_agent" });
  byName.delete(loader);
  return { loader, byName };
}
