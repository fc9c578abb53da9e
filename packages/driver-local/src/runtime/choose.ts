import { spawnSync } from "node:child_process";
import { AppError } from "@boxyard/core";
import { findProgram } from "../sys/run.ts";
import { crun } from "./crun.ts";
import type { Dialect, RuntimeName } from "./dialect.ts";
import { runc } from "./runc.ts";

/** The quicker first. */
const DIALECTS: readonly Dialect[] = [crun, runc];
const PROBE_MS = 5_000;

export interface ChosenRuntime {
  readonly dialect: Dialect;
  /** Absolute path of the program. */
  readonly file: string;
}

export interface RuntimeProbe {
  readonly dialect: Dialect;
  /** Undefined where it is not installed. */
  readonly file: string | undefined;
  /** First line of what `--version` prints: `crun version 1.8.1`. */
  readonly version: string;
  /** Why it can't be used, in a few words; undefined when it can. */
  readonly problem: string | undefined;
}

/** Tries one runtime after the other until one works; only `wanted`, when the operator has set it. */
export function probeRuntimes(wanted?: RuntimeName, find = findProgram): RuntimeProbe[] {
  const probes: RuntimeProbe[] = [];
  for (const dialect of DIALECTS) {
    if (wanted && dialect.name !== wanted) continue;
    const found = probe(dialect, find(dialect.name));
    probes.push(found);
    if (found.problem === undefined) break;
  }
  return probes;
}

/** The runtime to use. `failed_precondition`, reason `runtime_missing`, when none works. */
export function chooseRuntime(wanted?: RuntimeName, find = findProgram): ChosenRuntime {
  const probes = probeRuntimes(wanted, find);
  const chosen = probes.find(({ problem }) => problem === undefined);
  if (chosen?.file) return { dialect: chosen.dialect, file: chosen.file };
  const problems = probes.map(({ problem }) => problem).join("; ");
  throw new AppError("failed_precondition", `${problems}; install the package '${wanted ?? "crun"}'`, { reason: "runtime_missing" });
}

function probe(dialect: Dialect, file: string | undefined): RuntimeProbe {
  const { name } = dialect;
  if (file === undefined) return { dialect, file, version: "", problem: `${name} is not installed` };
  const { status, stdout, error } = spawnSync(file, ["--version"], { encoding: "utf8", timeout: PROBE_MS });
  const version = stdout?.split("\n", 1)[0]?.trim() ?? "";
  return { dialect, file, version, problem: problem() };

  function problem(): string | undefined {
    // Linked to a library that is missing, for another processor, …
    if (status !== 0) return `${file} does not run (${error ? error.message : `status ${status}`})`;
    return dialect.filters.test(stdout) ? undefined : `${file} was built without seccomp`;
  }
}
