import { existsSync } from "node:fs";
import { AppError, wrapError } from "@boxyard/core";
import type { FileLock } from "@boxyard/core/file-lock";
import { errnoOf, makePrivateDirectory } from "@boxyard/core/node";
import { lockFile } from "../sys/file-lock.ts";
import { Ahead, type Begun } from "./ahead.ts";
import { setupStages } from "./stages/index.ts";
import { packages } from "./stages/packages.ts";
import { readDone, writeDone } from "./stamp.ts";
import type { Reporter, SetupConfig, Stage } from "./types.ts";

/** The stages of `setupStages` that are not done, in order. Takes some ms. */
export async function pendingStages(config: SetupConfig): Promise<Stage[]> {
  const done = readDone(config);
  const pending: Stage[] = [];
  for (const stage of setupStages) {
    if (done[stage.name] !== stage.key(config) || !(await stage.isDone(config))) pending.push(stage);
  }
  return pending;
}

/** True when `runSetup` has nothing to do. After a reboot it has to mount the pool. */
export async function isSetUp(config: SetupConfig): Promise<boolean> {
  if (!existsSync(config.dataDir)) return false;
  return (await pendingStages(config)).length === 0;
}

/**
 * Makes this machine ready: runs every stage that is not done, one after the other, and what takes longest beside the others (`prepare`).
 * Repeatable. A second set-up of the same data directory waits for the first. After a kill at any line the next run waits for the compilers that the
 * first has left, and goes on from there. Failures are `AppError`s that name the stage, what is missing and the fix; then nothing runs any more.
 */
export async function runSetup(config: SetupConfig, reporter: Reporter): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new AppError("permission_denied", "set-up needs root: run it with sudo", { reason: "not_root" });
  }
  makeDataDir(config.dataDir);
  const lock = await lockFile(`${config.dataDir}/setup.lock`, () =>
    reporter.say("setup: waiting for another set-up of this data directory"),
  );
  try {
    await runStages(await pendingStages(config), { config, reporter, lock });
  } finally {
    lock.release();
  }
}

interface Run {
  readonly config: SetupConfig;
  readonly reporter: Reporter;
  readonly lock: FileLock;
}

async function runStages(pending: readonly Stage[], run: Run): Promise<void> {
  const { config } = run;
  await using ahead = new Ahead(config, run.reporter);
  for (const stage of pending) {
    if (stage !== packages) ahead.begin(pending);
    // An earlier stage may have completed this one: when the pool is mounted, the template's layer is there.
    if (readDone(config)[stage.name] === stage.key(config) && (await stage.isDone(config))) continue;
    await runStage(stage, ahead.take(stage), run);
  }
}

async function runStage(stage: Stage, ahead: Begun | undefined, { config, reporter, lock }: Run): Promise<void> {
  const { report, prepared } = ahead ?? { report: reporter.begin(stage) };
  try {
    await prepared;
    const key = stage.key(config);
    await stage.run(config, report, lock);
    writeDone(config, stage.name, key);
  } catch (error) {
    reporter.end(stage, error);
    throw wrapError(`setup of ${stage.title}`, errnoOf(error) === "ENOSPC" ? diskFull(config.dataDir, error) : error);
  }
  reporter.end(stage);
}

function diskFull(dataDir: string, cause: unknown): AppError {
  const message = `there is no room left on the disk of ${dataDir}: make some, then run 'boxyard up -d' (or 'boxyard setup') again; it goes on from here`;
  return new AppError("resource_exhausted", message, { reason: "disk_full", cause });
}

/** Makes the data directory, for root only: sandboxes get what they need from it by mounts that root makes. */
function makeDataDir(dataDir: string): void {
  try {
    makePrivateDirectory(dataDir);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new AppError(
      "failed_precondition",
      `cannot make the data directory ${dataDir}: ${text}; set BOXYARD_DATA to a directory elsewhere`,
      {
        reason: "data_directory",
        cause,
      },
    );
  }
}
