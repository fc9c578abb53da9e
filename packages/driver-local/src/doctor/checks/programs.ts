import { criuDirectory, readCriuFacts } from "../../criu/criu.ts";
import { tryCriu } from "../../criu/self-test.ts";
import { probeRuntimes, type RuntimeProbe } from "../../runtime/choose.ts";
import type { RuntimeName } from "../../runtime/dialect.ts";
import { type Check, fail, ok, type Verdict, warn } from "../types.ts";

export const runtime: Check = {
  name: "runtime",
  look: ({ runtime: wanted }) => judgeRuntimes(probeRuntimes(wanted), wanted),
};

/** Which runtime is used, and why. */
export function judgeRuntimes(tries: readonly RuntimeProbe[], wanted: RuntimeName | undefined): Verdict {
  const chosen = tries.find((found) => found.problem === undefined);
  const problems = tries.flatMap(({ problem }) => problem ?? []).join("; ");
  if (!chosen?.file) return fail(problems, `boxyard setup installs crun; by hand: apt-get install ${wanted ?? "crun"}`);
  const found = `${chosen.version} at ${chosen.file}`;
  if (wanted) return ok(`${found}, by BOXYARD_RUNTIME`);
  if (problems === "") return ok(`${found}, the quicker of those that work here`);
  return warn(`${found}, because ${problems}`, "apt-get install --reinstall crun: with it sandboxes start more quickly");
}

const DISK_ONLY = "pauses keep a sandbox's disk and not its memory";

/** Writes a real process to disk and restores it, with the CRIU that set-up found. */
export const checkpoint: Check = {
  name: "checkpoint",
  async look({ dataDir }) {
    const facts = readCriuFacts(dataDir);
    if (!facts) return warn(`set-up has not looked for a CRIU yet: ${DISK_ONLY}`, "boxyard setup");
    const { criu } = facts;
    const problem = criu ? await tryCriu(criu) : facts.problem;
    if (criu && problem === undefined) return ok(`CRIU ${criu.version} at ${criu.file} wrote a process to disk and restored it`);
    const again = `rm -r ${criuDirectory(dataDir)} && boxyard setup`;
    return warn(
      `${problem}; ${DISK_ONLY}`,
      `Give the machine CRIU 4.2 or newer, or a Debian package archive that it can reach; then ${again}`,
    );
  },
};
