import { join } from "node:path";
import { runProgram } from "@boxyard/testkit";

/** Where the Go project's own archive is unpacked, which is also where Docker's images have it. */
export const GO_PLACE = "/usr/local/go";

export interface GoRun {
  readonly cwd: string;
  /** Of the tests: where programs and caches are. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What this machine's Go prints. It fetches no other version of itself, and makes programs without a C library. Throws with what it said when it fails. */
export async function runGo(args: readonly string[], { cwd, env: ambient }: GoRun): Promise<string> {
  const go = Bun.which("go") ?? join(GO_PLACE, "bin/go");
  // The compiler takes an eighth less CPU time with a heap that may grow further between collections.
  const env = { ...ambient, CGO_ENABLED: "0", GOENV: "off", GOFLAGS: "", GOGC: "400", GOTOOLCHAIN: "local" };
  const { exitCode, stdout, stderr } = await runProgram([go, ...args], { cwd, env });
  if (exitCode !== 0) throw new Error(`go ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}
