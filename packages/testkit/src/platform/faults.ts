import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { AppError, ERROR_CODES, type ErrorCode, type StepObserver, systemClock } from "@boxyard/core";

/** A place between two steps of the real server's work. */
export interface FaultPoint {
  readonly layer: "server" | "driver";
  readonly step: string;
  readonly when: "before" | "after";
}

/**
 * What happens there, once: the server is killed as by `kill -9`; the work stands still until something aborts it, such as the removal of its
 * sandbox, and then goes on; or the step fails with an error of a code.
 */
export interface Fault extends FaultPoint {
  readonly act: "die" | "hold" | ErrorCode;
}

/** Longest time for which a step is held. */
const HOLD_MS = 30_000;

/** The variable that names the file by which a test tells its server of the next fault. */
export const FAULT_VARIABLE = "BOXYARD_TEST_FAULT_FILE";

/** Asks the server that reads `file` for faults; they replace those that it asked for before. */
export function writeFaults(file: string, faults: readonly Fault[]): void {
  if (faults.length === 0) {
    rmSync(file, { force: true });
    return;
  }
  writeFileSync(`${file}.new`, JSON.stringify(faults));
  renameSync(`${file}.new`, file);
}

/** Faults of one layer, as `file` asks for them. */
export function faultObserver(file: string, layer: FaultPoint["layer"]): StepObserver {
  const hook = (when: FaultPoint["when"]) => (step: string, signal?: AbortSignal) => {
    if (!existsSync(file)) return;
    const faults = JSON.parse(readFileSync(file, "utf8")) as Fault[];
    const index = faults.findIndex((fault) => fault.layer === layer && fault.step === step && fault.when === when);
    const [fault] = index < 0 ? [] : faults.splice(index, 1);
    if (!fault) return;
    // Before the fault, so that the next server does not meet it again.
    writeFaults(file, faults);
    const { act } = fault;
    if (act === "die") process.kill(process.pid, "SIGKILL");
    else if (act === "hold") return held(`${when} ${layer}'s ${step}`, signal);
    else if (ERROR_CODES.includes(act)) throw new AppError(act, `injected ${when} ${layer}'s ${step}`, { reason: "injected" });
  };
  return { before: hook("before"), after: hook("after") };
}

/** Resolves when `signal` aborts. Fails where nothing can abort the steps, and when nothing does. */
async function held(place: string, signal?: AbortSignal): Promise<void> {
  if (signal) await systemClock.sleep(HOLD_MS, signal).catch(() => {});
  if (!signal?.aborted) throw new AppError("deadline_exceeded", `nothing aborted what was held ${place}`, { reason: "injected" });
}
