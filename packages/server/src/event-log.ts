import { isAppError, type StepObserver } from "@boxyard/core";
import { type Logger, ownCpuMs } from "@boxyard/core/node";
import type { SandboxLogs } from "./logs/sandbox-logs.ts";
import type { BuildLogLevel, EndCause, PauseCause, PauseMode, SandboxRecord, StoreTrouble } from "./store/index.ts";

/**
 * One method for each event of a sandbox; each writes one line to the server's log. EventLog that concern the owner and change no state also write
 * a line to the sandbox's log, which gets changes of the state from the store's events. Environments, tokens and file contents are not logged.
 */
export class EventLog {
  private readonly logger: Logger;

  private readonly logs: SandboxLogs | undefined;

  constructor(logger: Logger, logs?: SandboxLogs) {
    this.logger = logger;
    this.logs = logs;
  }

  /** Logs each step of a transition, with the CPU time that this process used, where the log's level is `trace`. */
  stepTrace(transition: string): StepObserver {
    if (!this.logger.isLevelEnabled("trace")) return {};
    return {
      meter: () => ({ server: ownCpuMs() }),
      onStep: ({ name, startedAt, durationMs, cpuMs }) =>
        this.logger.trace({ by: "server", transition, step: name, startedAt, ms: durationMs, cpuMs }, "step"),
    };
  }
  created(of: Subject, facts: { template: string; warm?: boolean; totalMs: number; steps: Readonly<Record<string, number>> }): void {
    this.logger.info({ ...named(of), ...facts }, "sandbox created");
  }
  createFailed(sandboxId: string, error: unknown): void {
    this.logger.warn({ sandboxId, err: error }, "sandbox not created");
  }
  warmed(of: Subject, facts: { totalMs: number; steps: Readonly<Record<string, number>> }): void {
    this.logger.debug({ ...named(of), ...facts }, "sandbox of the pool is ready");
  }
  notWarmed(sandboxId: string, error: unknown): void {
    this.logger.warn({ sandboxId, err: error }, "sandbox of the pool not made; it will be tried again when creates need it");
  }
  notClaimed(sandboxId: string, error: unknown): void {
    this.logger.warn({ sandboxId, err: error }, "sandbox of the pool not handed out; it is removed, and the create goes on with another");
  }
  paused(of: Subject, facts: { mode: PauseMode; cause: PauseCause; totalMs: number; steps: Readonly<Record<string, number>> }): void {
    this.logger.info({ ...named(of), ...facts }, "sandbox paused");
  }
  pauseFailed(of: Subject, error: unknown): void {
    this.logger.warn({ ...named(of), err: error }, "sandbox not paused; it runs on");
    this.tell(of, "warn", "The sandbox could not be paused and runs on", { event: "pause_failed" });
  }
  memoryNotKept(of: Subject, error: unknown): void {
    this.logger.warn({ ...named(of), err: error }, "sandbox paused at the end of its time without its memory, which could not be kept");
    const why = isAppError(error, "failed_precondition") ? `: ${error.message}` : "";
    this.tell(of, "warn", `Its time was up and its memory could not be kept, so only its disk was${why}`, { event: "memory_not_kept" });
  }
  resumed(of: Subject, facts: { totalMs: number; steps: Readonly<Record<string, number>> }): void {
    this.logger.info({ ...named(of), ...facts }, "sandbox resumed");
  }
  resumeFailed(of: Subject, error: unknown): void {
    this.logger.warn({ ...named(of), err: error }, "sandbox not resumed; it stays paused");
    this.tell(of, "warn", "The sandbox could not be resumed and stays paused", { event: "resume_failed" });
  }
  captured(of: Subject, facts: { snapshot: string; memory: boolean; totalMs: number; steps: Readonly<Record<string, number>> }): void {
    this.logger.info({ ...named(of), ...facts }, "sandbox captured");
  }
  captureFailed(of: Subject, error: unknown): void {
    this.logger.warn({ ...named(of), err: error }, "sandbox not captured; it runs on");
    this.tell(of, "warn", "The sandbox could not be captured and runs on", { event: "snapshot_failed" });
  }
  rolledBack(of: Subject, facts: { snapshot: string; totalMs: number; steps: Readonly<Record<string, number>> }): void {
    this.logger.info({ ...named(of), ...facts }, "sandbox rolled back");
    this.tell(of, "info", "The sandbox goes on from a snapshot", { event: "rolled_back" });
  }
  rollbackFailed(of: Changed, error: unknown): void {
    this.logger.warn({ ...named(of), state: of.state, err: error }, "sandbox not rolled back");
    const goesOn = of.state === "paused" ? "is paused" : "runs on";
    this.tell(of, "warn", `The sandbox could not be rolled back and ${goesOn} as before`, { event: "rollback_failed" });
  }
  bootsInstead(of: Subject, snapshot: string, error: unknown): void {
    this.logger.warn({ ...named(of), snapshot, err: error }, "sandbox could not start from memory; it boots, and runs its start command");
    this.tell(of, "warn", "The sandbox could not start from its template's memory; it boots instead", { event: "boots_instead" });
  }
  snapshotKept(snapshot: string, keepMs: number): void {
    this.logger.warn({ snapshot, keepMs }, "the driver has a snapshot that the store does not know; it is kept for a time");
  }
  snapshotRemoved(snapshot: string): void {
    this.logger.info({ snapshot }, "snapshot removed: nothing refers to it");
  }
  snapshotNotRemoved(snapshot: string, error: unknown): void {
    this.logger.error({ snapshot, err: error }, "snapshot could not be removed; it will be tried again");
  }
  operationSettled(operation: string, kind: string): void {
    this.logger.warn({ operation, kind }, "operation finished or undone, which an earlier server had left unfinished");
  }
  operationNotSettled(operation: string, kind: string, error: unknown): void {
    this.logger.error({ operation, kind, err: error }, "operation could be neither finished nor undone; it will be tried again");
  }
  egressFailed(of: Subject, error: unknown): void {
    this.logger.warn({ ...named(of), err: error }, "egress rules of the sandbox not changed; the former rules hold");
  }
  resizeFailed(of: Subject, error: unknown): void {
    this.logger.warn({ ...named(of), err: error }, "limits of the sandbox not changed; the former limits hold");
  }
  ended(of: Subject, cause: EndCause): void {
    this.logger.info({ ...named(of), cause }, "sandbox ended");
  }
  removed(sandboxId: string): void {
    this.logger.debug({ sandboxId }, "sandbox removed");
  }
  removalFailed(sandboxId: string, error: unknown): void {
    this.logger.error({ sandboxId, err: error }, "sandbox could not be removed; it will be tried again");
  }
  storeFailed(sandboxId: string, error: unknown): void {
    this.logger.error({ sandboxId, err: error }, "the store did not take a change");
  }
  storeChanged(trouble: StoreTrouble | undefined): void {
    if (trouble) this.logger.error({ ...trouble }, "degraded: the store takes no changes; nothing new is made, what runs goes on");
    else this.logger.info("the store takes changes again");
  }
  undoFailed(sandboxId: string, transition: string, error: unknown): void {
    this.logger.error({ sandboxId, transition, err: error }, "a step could not be undone");
  }
  /** `step`: the names of the transition and of its step. */
  stepGivenUp(sandboxId: string, step: string): void {
    this.logger.error({ sandboxId, step }, "a step of an aborted change does not end; the sandbox can only be removed until it does");
  }
  stepEndedLate(sandboxId: string, step: string, error: unknown): void {
    this.logger.warn({ sandboxId, step, ...(error !== undefined && { err: error }) }, "a step that was given up has ended, and is undone");
  }
  undone(of: Subject, state: "running" | "paused"): void {
    this.logger.info({ ...named(of), state }, "a failed transition of the sandbox is undone now");
  }
  adopted(of: Subject, state: "running" | "paused"): void {
    this.logger.info({ ...named(of), state }, "sandbox adopted");
    const goesOn = state === "running" ? "runs on" : "stays paused";
    this.tell(of, "info", `The server was started again; the sandbox ${goesOn}`, { event: "adopted" });
  }
  notAdopted(sandboxId: string, cause: EndCause): void {
    this.logger.warn({ sandboxId, cause }, "sandbox not adopted");
  }
  orphanRemoved(sandboxId: string): void {
    this.logger.warn({ sandboxId }, "orphan removed: the driver had it, the store did not");
  }
  quarantined(sandboxId: string, cause: QuarantineCause, keepMs: number): void {
    const why = cause === "unknown" ? "the driver has it, the store does not" : "what the driver knows of it is damaged";
    this.logger.warn({ sandboxId, cause, keepMs }, `sandbox in quarantine: ${why}; it is frozen and kept for a time`);
  }
  orphanAdopted(of: Subject, unknown: readonly string[]): void {
    this.logger.warn({ ...named(of), unknown }, "orphan adopted: its record was made again; what is not known of it has defaults");
    this.tell(of, "warn", `The server has lost its record of the sandbox and made it again. Lost: ${unknown.join(", ")}`, {
      event: "orphan_adopted",
    });
  }
  orphanNotAdopted(sandboxId: string, error?: unknown): void {
    this.logger.warn({ sandboxId, ...(error !== undefined && { err: error }) }, "orphan not adopted: nothing of it could go on");
  }
  orphansNotWritten(error: unknown): void {
    this.logger.error({ err: error }, "the list of orphans could not be written");
  }
  handOverFailed(sandboxId: string, error: unknown): void {
    this.logger.error({ sandboxId, err: error }, "the agent of an adopted sandbox did not take its new token");
  }
  unresponsive(sandboxId: string, policy: string): void {
    this.logger.warn({ sandboxId, policy }, "the agent of the sandbox no longer answers");
    this.logs?.add(sandboxId, "error", "The sandbox's agent no longer answers", { event: "unresponsive" });
  }
  rebooted(of: Subject): void {
    this.logger.warn(named(of), "sandbox booted anew from its disk: its agent no longer answered");
    this.tell(of, "warn", "The sandbox was booted anew from its disk, because its agent no longer answered", { event: "booted_anew" });
  }
  notRebooted(of: Changed, error: unknown): void {
    this.logger.error({ ...named(of), state: of.state, err: error }, "sandbox with an unresponsive agent not booted anew");
    const goesOn = of.state === "paused" ? "is paused with its disk" : "runs on";
    this.tell(of, "error", `The sandbox could not be booted anew and ${goesOn}`, { event: "boot_anew_failed" });
  }
  responsive(sandboxId: string): void {
    this.logger.info({ sandboxId }, "the agent of the sandbox answers again");
    this.logs?.add(sandboxId, "info", "The sandbox's agent answers again", { event: "responsive" });
  }
  watchFailed(sandboxId: string, error: unknown): void {
    this.logger.error({ sandboxId, err: error }, "watching the sandbox failed; it will be tried again");
  }

  /** Writes a line to the sandbox's log if a user owns the sandbox. */
  private tell({ id, owner }: Subject, ...line: [level: BuildLogLevel, message: string, fields: Readonly<Record<string, string>>]): void {
    if (owner.kind === "user") this.logs?.add(id, ...line);
  }
}

/** Why a sandbox is in quarantine. `unknown`: the store does not know it. `damaged`: the driver cannot read what it has kept of it. */
export type QuarantineCause = "unknown" | "damaged";

/** The sandbox of an event. */
export type Subject = Pick<SandboxRecord, "id" | "owner">;
type Changed = Pick<SandboxRecord, "id" | "owner" | "state">;

/** The fields that name a sandbox in the server's log; of a sandbox of a build also the build. */
function named({ id: sandboxId, owner }: Subject): Readonly<Record<string, unknown>> {
  return { sandboxId, ...(owner.kind === "user" ? {} : { owner }) };
}
