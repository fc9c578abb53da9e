import type { ProcessEnd } from "@boxyard/agent-client";
import { type Clock, plainCommand, TimeLimit } from "@boxyard/core";
import type { Restrictions } from "@boxyard/driver";
import { tarEnd, tarHeader, tarPadding } from "@boxyard/spec/tar";
import { LISTENING_SCRIPT, parseListening } from "../../../ready/probe-scripts.ts";
import { type ReadyCommands, readyOf, untilReady } from "../../../ready/ready.ts";
import type { BuildRecord, RunAs, TemplateMount, TemplateSpec } from "../../../store/index.ts";
import { BuildFailure, shown } from "../log/build-failure.ts";
import type { BuildLog } from "../log/build-log.ts";
import type { Part, Session } from "../stage/session.ts";
import type { BuildState } from "../stage/state.ts";

const READY_LIMIT_MS = 600_000;

export const FINALIZE: Part = { step: "finalize", prefix: "finalize" };

export interface Commands {
  readonly startCmd?: string;
  readonly readyCmd?: string;
  /** User and directory of inherited commands. */
  readonly runAs?: RunAs;
}

/** What a template inherits from its base, unless its own build says something else. */
export interface Inherited extends Commands {
  readonly restrictions?: Restrictions;
  /** Triggers of an archive, which is the template itself. Triggers of other bases are not inherited. */
  readonly onBuild?: readonly string[];
}

/** What a template has besides. */
interface Outcome extends Inherited {
  /** No template inherits them: they are volumes of the team that built it. */
  readonly volumeMounts?: readonly TemplateMount[];
}

interface Trial {
  readonly session: Session;
  readonly log: BuildLog;
  readonly clock: Clock;
  /** False for an image `FROM scratch`: it holds only the files that were copied into it, and the agent starts commands without a shell. */
  readonly hasShell: boolean;
}

/**
 * Runs the start command that every sandbox of the template will run, and waits until it is ready, so that a template whose command fails is never
 * made. Returns the ports that are listened on then. Throws `BuildFailure`.
 */
export async function tryStart(state: BuildState, commands: Commands, trial: Trial): Promise<number[]> {
  const { session, log, hasShell } = trial;
  const { startCmd } = commands;
  if (!hasShell) refuseShellForms(commands);
  const { user, workdir } = commands.runAs ?? state;
  const envs = await session.environment(state);
  const shell = (command: string) => ({ cmd: "/bin/bash", args: ["-l", "-c", command], user, cwd: workdir, envs });
  const over = new AbortController();
  const signal = AbortSignal.any([session.signal, over.signal]);
  let failed: Promise<never> | undefined;
  try {
    if (startCmd) {
      log.add(`Running start command: ${startCmd}`, FINALIZE.step);
      const [out, err] = [session.cutter("stdout", FINALIZE, "start"), session.cutter("stderr", FINALIZE, "start")];
      const running = await session.start(
        state.image,
        shell(startCmd),
        { stdout: session.taking(out), stderr: session.taking(err) },
        signal,
      );
      failed = running.ended.then((end) => startFailure(startCmd, end));
      failed.catch(() => {});
    }
    const ask = async (command: string, limit: AbortSignal) => (await session.exec(state.image, shell(command), {}, limit)).exitCode === 0;
    const ready = waitFor(commands, ask, trial, signal);
    // The loser of the race is not awaited, and its rejection is ignored.
    ready.catch(() => {});
    await Promise.race([ready, ...(failed ? [failed] : [])]);
    const ports =
      startCmd && hasShell ? parseListening(await session.script(state.image, LISTENING_SCRIPT, [], FINALIZE, "looking at its ports")) : [];
    log.add("Template is ready", FINALIZE.step);
    return ports;
  } finally {
    over.abort();
  }
}

function refuseShellForms({ startCmd = "", readyCmd = "" }: Commands): void {
  const ready = readyOf({ readyCmd });
  const asked = ready.kind === "command" ? ready.command : "";
  for (const [kind, command, told] of [
    ["start", startCmd, startCmd],
    ["ready", asked, readyCmd],
  ] as const) {
    if (command === "" || plainCommand(command)) continue;
    throw new BuildFailure(
      `the ${kind} command '${shown(told)}' needs a shell, and an image FROM scratch has none: give a program and its arguments`,
      FINALIZE.step,
    );
  }
}

/** The failure of a start command. Never settles for exit code 0: the command may have left a program running. */
async function startFailure(startCmd: string, { exitCode, status }: ProcessEnd): Promise<never> {
  if (exitCode === 0) return new Promise<never>(() => {});
  const how = exitCode > 0 ? `exit status ${exitCode}` : status;
  throw new BuildFailure(`failed to run start command '${shown(startCmd)}': ${how}`, FINALIZE.step);
}

type Ask = (command: string, limit: AbortSignal) => Promise<boolean>;

async function waitFor(commands: ReadyCommands, ask: Ask, { session, log, clock }: Trial, signal: AbortSignal): Promise<void> {
  const say = (line: string) => log.add(line, FINALIZE.step);
  const ready = readyOf(commands);
  if (ready.kind === "nothing") return;
  const isDefault = ready.kind === "time" && !ready.isTold;
  say(
    `Waiting for template to be ready: ${isDefault ? `${ready.ms / 1000} s, since there is no ready command` : commands.readyCmd?.trim()}`,
  );
  if (ready.kind === "time") return clock.sleep(Math.min(ready.ms, READY_LIMIT_MS), signal);
  const { command, what } = ready;
  using time = new TimeLimit(READY_LIMIT_MS, clock);
  const limit = AbortSignal.any([signal, time.signal]);
  const told = (seconds: number) => say(`Still waiting after ${seconds} s: ${what}`);
  await untilReady(() => ask(command, limit), clock, limit, told).catch((error: unknown) => {
    session.signal.throwIfAborted();
    throw new BuildFailure(`the ready command '${shown(what)}' did not succeed within 10 minutes`, FINALIZE.step, error);
  });
}

/** The spec of the finished template. */
export function templateSpecOf(
  state: BuildState,
  build: BuildRecord,
  { startCmd, readyCmd, runAs, restrictions, onBuild = [], volumeMounts }: Outcome,
): TemplateSpec {
  const isElsewhere = runAs !== undefined && (runAs.user !== state.user || runAs.workdir !== state.workdir);
  return {
    ...build.resources,
    ...state,
    ...(startCmd ? { startCmd } : {}),
    ...(readyCmd ? { readyCmd } : {}),
    ...(isElsewhere ? { runAs } : {}),
    ...(restrictions ? { restrictions } : {}),
    ...(onBuild.length > 0 ? { onBuild } : {}),
    ...(volumeMounts ? { volumeMounts } : {}),
  };
}

/** A tar with the file `/.e2b`, which tells programs the ids of template and build (docs/contract/templates.md). */
export function factsTar({ templateId, id }: BuildRecord): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(`ENV_ID=${templateId}\nTEMPLATE_ID=${templateId}\nBUILD_ID=${id}\n`);
  const parts = [tarHeader({ name: ".e2b", size: text.byteLength }), text, tarPadding(text.byteLength), tarEnd()];
  return new Uint8Array(Buffer.concat(parts));
}
