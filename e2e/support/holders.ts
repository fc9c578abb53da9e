import { runProgram } from "@boxyard/testkit";

/** Files below a path that contain one of these texts, among those created or changed since the file `begun` was. */
export async function holders(path: string, texts: readonly string[], begun: string): Promise<string[]> {
  const since = ["-type", "f", "-cnewer", begun, "-not", "-name", "pool.img"];
  const argv = ["find", path, ...since, "-exec", "grep", "-laF", ...texts.flatMap((text) => ["-e", text]), "{}", "+"];
  const found = await runProgram(argv, { limitMs: 100_000 });
  return found.stdout.split("\n").filter((line) => line !== "");
}
