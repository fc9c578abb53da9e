import { isAppError, type LivingState } from "@boxyard/core";
import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";
import { isOfOwnPool, OF_POOL } from "../../pool-label.ts";
import type { EndCause, SandboxRecord } from "../../store/index.ts";
import type { Answer, AnswerFor } from "../engine/own-transitions.ts";
import type { RecordChange } from "../engine/transition.ts";
import { driverSpecOf } from "../transitions/create.ts";
import { modeOf } from "../transitions/pause.ts";

const remove = (cause: EndCause): Answer => ({ next: "remove", cause });

/** The processes go on if the driver has them in the incarnation of the record; frozen processes are thawed first. */
const recover: AnswerFor = async ({ driver, events, policies }, record, handle) => {
  if (!handle) return remove("lost");
  try {
    const status = await driver.recover(handle);
    if (handle.incarnation !== record.incarnation) return remove("lost");
    if (status.phase === "stopped") return remove(status.exit?.reason ?? "unknown");
    if (status.phase !== "running") return remove("unfinished");
    // The agent may have frozen commands for a pause: `thaw` lets these go on too.
    if (driver.capabilities.freeze && (status.frozen || wasInterrupted(record))) await driver.thaw(handle);
    // A server that died during a change of the rules leaves other rules than the record's.
    if (driver.capabilities.network) await driver.setNetwork(handle, await policies.of(record));
    // A server that died after a claim may have left the label of the pool.
    if (status.labels[OF_POOL] !== undefined && record.owner.kind === "user") await driver.relabel(handle, driverSpecOf(record).labels);
    const change = await resizeAsRecorded(driver, record, handle);
    return { next: "running", address: await driver.address(handle), ...(change && { change }) };
  } catch (error) {
    if (isAppError(error, "not_found")) return remove("lost");
    if (isAppError(error, "data_loss")) return { next: "damaged" };
    events.watchFailed(record.id, error);
    return { next: "later" };
  }
};

/**
 * A server that died during a resize leaves other limits than the record's. Where the sandbox cannot have those (it uses more memory now), the record gets
 * the driver's.
 */
async function resizeAsRecorded(
  driver: SandboxDriver,
  { settings }: SandboxRecord,
  handle: SandboxHandle,
): Promise<RecordChange | undefined> {
  if (!settings.resources || !driver.capabilities.resize) return undefined;
  try {
    await driver.resize(handle, settings.resources);
    return undefined;
  } catch (error) {
    if (!isAppError(error, "failed_precondition")) throw error;
    return { settings: { ...settings, resources: (await driver.keptSpec(handle)).resources } };
  }
}

const wasInterrupted = ({ state }: SandboxRecord) => ["pausing", "snapshotting", "rollingBack", "rebooting"].includes(state);

/** A pause is finished if the driver has memory and disk whole; else it is undone. */
const finishOrUndoPause: AnswerFor = async (parts, record, handle) => {
  const { driver, events } = parts;
  if (driver.capabilities.checkpoint === "none") return recover(parts, record, handle);
  if (!handle) return remove("lost");
  try {
    const kept = await driver.generation(record.id);
    if (kept?.incarnation !== record.incarnation) return recover(parts, record, handle);
    await driver.revert(record.id);
    return { next: "paused", change: { settings: { ...record.settings, pauseMode: modeOf(kept.memory) } } };
  } catch (error) {
    if (isAppError(error, "data_loss")) return { next: "damaged" };
    events.watchFailed(record.id, error);
    return { next: "later" };
  }
};

/** A generation is kept until its resume is done, so the resume can be tried again. The incarnation that was being started is ended. */
const backToPaused: AnswerFor = async (parts, record, handle) => {
  const { driver, events } = parts;
  if (!handle) return remove("lost");
  try {
    const { incarnation } = await driver.revert(record.id);
    return { next: "paused", change: { incarnation } };
  } catch (error) {
    if (isAppError(error, "not_found")) return recover(parts, record, handle);
    if (isAppError(error, "data_loss")) return { next: "damaged" };
    events.watchFailed(record.id, error);
    return { next: "later" };
  }
};

/**
 * The processes of the sandbox were being replaced. This is undone: the saved state of the sandbox stays, and its owner or a request resumes it. If the
 * record has a pause mode, its incarnation is that of the new processes, or the sandbox was paused before.
 */
const undoReplacement: AnswerFor = async (parts, record, handle) => {
  const { pauseMode, pauseCause: _, ...settings } = record.settings;
  const answer = await (pauseMode === undefined ? finishOrUndoPause : backToPaused)(parts, record, handle);
  return answer.next === "running" ? { ...answer, change: { settings } } : answer;
};

/** A paused sandbox has no processes to look for, and is never removed for lack of them. */
const stayPaused: AnswerFor = async () => ({ next: "paused" });
const removeUnfinished: AnswerFor = async () => remove("unfinished");
const finishRemoval: AnswerFor = async (_parts, record) => remove(record.reason ?? "unknown");

/**
 * A sandbox of the pool goes on waiting. Not when its claim had begun, which takes the label away first, or notes it in the store: then its agent may have a
 * user's environment, and nobody else may get it.
 */
const keepWaiting: AnswerFor = async (parts, record, handle) => {
  const isWaiting =
    record.state === "running" && !record.settings.isHandedOut && handle !== undefined && (await isOfOwnPool(parts.driver, handle));
  return isWaiting ? recover(parts, record, handle) : remove("released");
};

/** For each state in which a dead server can leave a sandbox: what the next server does. */
export const ANSWERS: Readonly<Record<LivingState, AnswerFor>> = {
  creating: removeUnfinished,
  running: recover,
  pausing: finishOrUndoPause,
  snapshotting: recover,
  paused: stayPaused,
  resuming: backToPaused,
  rollingBack: undoReplacement,
  rebooting: undoReplacement,
  failed: finishRemoval,
  killing: finishRemoval,
};

/** What this server does with a sandbox that an earlier server has left. A build ends with its server, so its sandbox is removed. */
export const answerFor: AnswerFor = async (parts, record, handle) => {
  if (record.owner.kind === "build" && record.state !== "killing") return remove("owner_gone");
  if (record.owner.kind === "pool" && record.state !== "killing") return keepWaiting(parts, record, handle);
  return record.state === "dead" ? { next: "keep" } : ANSWERS[record.state](parts, record, handle);
};
