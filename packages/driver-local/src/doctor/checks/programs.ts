import { probeRuntimes, type RuntimeProbe } from "../../runtime/choose.ts";
import type { RuntimeName } from "../../runtime/dialect.ts";
import { findProgram, runCommand } from "../../sys/run.ts";
import { type Check, fail, ok, type Verdict, warn } from "../types.ts";

const firstLine = (text: string): string => text.split("\n", 1)[0]?.trim() ?? "";

export const runtime: Check = {
  name: "runtime",
  look: ({ runtime: wanted }) => judgeRuntimes(probeRuntimes(wanted), wanted),
};

/** Which runtime is used, and why that one. */
export function judgeRuntimes(tries: readonly RuntimeProbe[], wanted: RuntimeName | undefined): Verdict {
  const chosen = tries.find((found) => found.problem === undefined);
  const problems = tries.flatMap(({ problem }) => problem ?? []).join("; ");
  if (!chosen?.file) return fail(problems, `boxyard setup installs crun; by hand: apt-get install ${wanted ?? "crun"}`);
  const found = `${chosen.version} at ${chosen.file}`;
  if (wanted) return ok(`${found}, by BOXYARD_RUNTIME`);
  if (problems === "") return ok(`${found}, the quicker of those that work here`);
  return warn(`${found}, because ${problems}`, "apt-get install --reinstall crun: with it sandboxes start more quickly");
}

/** Oldest CRIU that checkpoints what we start, on the kernels of today. */
const LEAST_CRIU = [4, 2] as const;

/** True for `Version: 4.2.1`. */
export function isCriuNewEnough(output: string): boolean {
  const match = /(\d+)\.(\d+)/.exec(output);
  const [major, minor] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
  return major > LEAST_CRIU[0] || (major === LEAST_CRIU[0] && minor >= LEAST_CRIU[1]);
}

export const checkpoint: Check = {
  name: "checkpoint",
  async look() {
    const criu = findProgram("criu");
    const fix = `Install CRIU ${LEAST_CRIU.join(".")} or newer`;
    if (criu === undefined) return warn("CRIU is not installed: sandboxes can't be paused to disk", fix);
    const version = firstLine(await runCommand([criu, "--version"]));
    if (isCriuNewEnough(version)) return ok(`CRIU ${version.replace(/^Version:\s*/, "")} at ${criu}`);
    return warn(`CRIU ${version.replace(/^Version:\s*/, "")} is too old for kernels of today: sandboxes can't be paused to disk`, fix);
  },
};
