import type { Clock } from "@boxyard/core";
import type { Restrictions } from "@boxyard/driver";
import type { BuildRecord, TemplateSpec } from "../../store/index.ts";
import { isOnlySleep, untilReady } from "../ready.ts";
import { BuildFailure, shown } from "./build-failure.ts";
import type { BuildLog } from "./build-log.ts";
import type { Part, Session } from "./session.ts";
import type { BuildState } from "./state.ts";

const READY_LIMIT_MS = 600_000;
/** A start command that has failed by then was never going to run; longer ones are told by a ready command. */
const EARLY_END_MS = 1000;

export const FINALIZE: Part = { step: "finalize", prefix: "finalize" };

export interface Commands {
  readonly startCmd?: string;
  readonly readyCmd?: string;
}

/** What a template has of the one that it is made from, unless its own build says something else. */
export interface Inherited extends Commands {
  readonly restrictions?: Restrictions;
}

/** Starts what every sandbox of the template will start, and waits until it is ready, so that a template that can't start is never made. */
export async function tryStart(
  state: BuildState,
  { startCmd, readyCmd }: Commands,
  session: Session,
  log: BuildLog,
  clock: Clock,
): Promise<void> {
  const envs = await session.environment(state);
  const workspace = await session.workspace(state.image);
  const shell = (command: string) => ({ cmd: "/bin/bash", args: ["-l", "-c", command], user: state.user, cwd: state.workdir, envs });
  const over = new AbortController();
  const signal = AbortSignal.any([session.signal, over.signal]);
  let failed: Promise<never> | undefined;
  try {
    if (startCmd) {
      log.add(`Running start command: ${startCmd}`, FINALIZE.step);
      const [out, err] = [session.cutter("stdout", FINALIZE, "start"), session.cutter("stderr", FINALIZE, "start")];
      const running = await workspace.start(shell(startCmd), { stdout: session.taking(out), stderr: session.taking(err) }, signal);
      failed = running.ended.then(({ exitCode, status }) => {
        if (exitCode === 0) return new Promise<never>(() => {});
        throw new BuildFailure(
          `failed to run start command '${shown(startCmd)}': ${exitCode > 0 ? `exit status ${exitCode}` : status}`,
          FINALIZE.step,
        );
      });
      failed.catch(() => {});
    }
    const waits = readyCmd && !isOnlySleep(readyCmd) ? readyCmd : undefined;
    if (waits) {
      log.add(`Waiting for template to be ready: ${waits}`, FINALIZE.step);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(READY_LIMIT_MS)]);
      const ask = async () => (await workspace.exec(shell(waits), {}, limit)).exitCode === 0;
      const ready = untilReady(ask, clock, limit).catch((error: unknown) => {
        session.signal.throwIfAborted();
        throw new BuildFailure(`the ready command '${shown(waits)}' did not succeed within 10 minutes`, FINALIZE.step, error);
      });
      // The one that loses is not waited for.
      ready.catch(() => {});
      await Promise.race([ready, ...(failed ? [failed] : [])]);
    } else if (failed) {
      await Promise.race([failed, clock.sleep(EARLY_END_MS, signal)]);
    }
    log.add("Template is ready", FINALIZE.step);
  } finally {
    over.abort();
  }
}

/** What sandboxes start from. */
export function specOf(state: BuildState, build: BuildRecord, { startCmd, readyCmd, restrictions }: Inherited): TemplateSpec {
  return {
    ...build.resources,
    ...state,
    ...(startCmd ? { startCmd } : {}),
    ...(readyCmd ? { readyCmd } : {}),
    ...(restrictions ? { restrictions } : {}),
  };
}

/** A tar of the one file `/.e2b`, which tells programs what they run in (docs/contract/templates.md). */
export function factsTar({ templateId, id }: BuildRecord): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(`ENV_ID=${templateId}\nTEMPLATE_ID=${templateId}\nBUILD_ID=${id}\n`);
  const head = Buffer.alloc(512);
  const field = (at: number, value: string) => head.write(value, at, "latin1");
  field(0, ".e2b");
  field(100, "0000644\0");
  field(108, "0000000\0");
  field(116, "0000000\0");
  field(124, `${text.byteLength.toString(8).padStart(11, "0")}\0`);
  field(136, "00000000000\0");
  field(148, "        ");
  field(156, "0");
  field(257, "ustar\x0000");
  const sum = head.reduce((total, byte) => total + byte, 0);
  field(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  const padded = Buffer.alloc(Math.ceil(text.byteLength / 512) * 512 + 1024);
  text.copy(padded);
  return new Uint8Array(Buffer.concat([head, padded]));
}
