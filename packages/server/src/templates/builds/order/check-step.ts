import { AppError, type TeamId } from "@boxyard/core";
import type { TemplateStep } from "@boxyard/spec/platform";
import { STEP_TYPES } from "../steps/steps.ts";
import { checkHash, type Uploads } from "../uploads.ts";

const ENV_NAME = /^[^=\0]+$/;
const MODE = /^[0-7]{1,4}$/;
const MAX_ENV_BYTES = 1 << 17;

/** How many arguments each kind of step takes. */
const COUNTS: Readonly<Record<string, readonly [number, number]>> = {
  RUN: [1, 2],
  COPY: [2, 4],
  ADD: [2, 4],
  ENV: [0, 10_000],
  ARG: [0, 10_000],
  WORKDIR: [1, 1],
  USER: [1, 2],
};

interface StepBounds {
  readonly uploads: Uploads;
  /** Names of the earlier stages. */
  readonly stages: ReadonlySet<string>;
}

/** Checks a step. Throws `invalid_argument`, whose message begins with the member's path; `at` is the path of the step. */
export function checkStep(step: TemplateStep, at: string, teamId: TeamId, bounds: StepBounds): void {
  const { type, args } = step;
  const [least, most] = (Object.hasOwn(COUNTS, type) ? COUNTS[type] : undefined) ?? [];
  if (least === undefined || most === undefined) throw refuse(`${at}.type: '${type.slice(0, 50)}' is none of ${STEP_TYPES.join(", ")}`);
  if (args.length < least || args.length > most) {
    throw refuse(`${at}.args: ${type} takes ${least === most ? least : `${least} to ${most}`} arguments, not ${args.length}`);
  }
  const nul = args.findIndex((arg) => arg.includes("\0"));
  if (nul >= 0) throw refuse(`${at}.args.${nul}: must not hold NUL`);
  if (type === "ENV" || type === "ARG") checkPairs(step, at);
  if (step.env) checkEnv(step, at);
  if (step.secrets) checkSecrets(step, at);
  if (step.mounts) checkMounts(step, at, teamId, bounds);
  for (const field of ["from", "fromStage"] as const) {
    if (step[field] !== undefined && type !== "COPY") throw refuse(`${at}.${field}: is for COPY alone`);
  }
  if (type === "COPY" || type === "ADD") checkCopy(step, at, teamId, bounds);
  else if (step.sources) throw refuse(`${at}.sources: is for COPY and ADD alone`);
}

function checkPairs({ type, args }: TemplateStep, at: string): void {
  if (args.length % 2 !== 0) throw refuse(`${at}.args: ${type} takes pairs of name and value`);
  const bad = args.findIndex((arg, i) => i % 2 === 0 && !ENV_NAME.test(arg));
  if (bad >= 0) throw refuse(`${at}.args.${bad}: '${args[bad]?.slice(0, 100)}' is not a variable name`);
}

function checkEnv({ type, env = {} }: TemplateStep, at: string): void {
  if (type !== "RUN") throw refuse(`${at}.env: is for RUN alone`);
  let bytes = 0;
  for (const [name, value] of Object.entries(env)) {
    if (!ENV_NAME.test(name)) throw refuse(`${at}.env: '${name.slice(0, 100)}' is not a variable name`);
    if (value.includes("\0")) throw refuse(`${at}.env.${name.slice(0, 100)}: must not hold NUL`);
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
  }
  if (bytes > MAX_ENV_BYTES) throw refuse(`${at}.env: must have at most ${MAX_ENV_BYTES} bytes`);
}

function checkSecrets({ type, secrets = [] }: TemplateStep, at: string): void {
  if (type !== "RUN") throw refuse(`${at}.secrets: is for RUN alone`);
  for (const [i, { target = "", env }] of secrets.entries()) {
    if (/[\0\n]/.test(target)) throw refuse(`${at}.secrets.${i}.target: must hold neither NUL nor a line's end`);
    if (env !== undefined && !ENV_NAME.test(env)) throw refuse(`${at}.secrets.${i}.env: '${env.slice(0, 100)}' is not a variable name`);
  }
}

function checkMounts({ type, mounts = [] }: TemplateStep, at: string, teamId: TeamId, { uploads, stages }: StepBounds): void {
  if (type !== "RUN") throw refuse(`${at}.mounts: is for RUN alone`);
  for (const [i, mount] of mounts.entries()) {
    const where = `${at}.mounts.${i}`;
    const paths = { target: mount.target, source: mount.source ?? "", "sources.0.path": mount.sources?.[0]?.path ?? "" };
    for (const [field, path] of Object.entries(paths)) {
      if (/[\0\n]/.test(path)) throw refuse(`${where}.${field}: must hold neither NUL nor a line's end`);
      if (field !== "target" && path.split("/").includes("..")) throw refuse(`${where}.${field}: must not hold '..'`);
    }
    if (/[\0\n/]/.test(mount.sources?.[0]?.name ?? "")) throw refuse(`${where}.sources.0.name: is not the name of a file`);
    if (mount.type === "cache") continue;
    const { fromStage, filesHash } = mount;
    if ((fromStage === undefined) === (filesHash === undefined)) throw refuse(`${where}: a bind mount needs fromStage or filesHash`);
    if (fromStage !== undefined && !stages.has(fromStage))
      throw refuse(`${where}.fromStage: there is no stage '${fromStage}' before this one`);
    if (filesHash === undefined) continue;
    checkHash(filesHash, `${where}.filesHash`);
    if (!uploads.has(teamId, filesHash)) throw refuse(`${where}.filesHash: no files were uploaded under ${filesHash}`);
  }
}

function checkCopy(step: TemplateStep, at: string, teamId: TeamId, { uploads, stages }: StepBounds): void {
  const { args, filesHash, from, fromStage, sources = [] } = step;
  if (args[3] && !MODE.test(args[3])) throw refuse(`${at}.args.3: '${args[3].slice(0, 50)}' is not a mode in octal digits`);
  for (const [i, { path, name = "" }] of sources.entries()) {
    if (/[\0\n]/.test(path)) throw refuse(`${at}.sources.${i}.path: must hold neither NUL nor a line's end`);
    if (path.split("/").includes("..")) throw refuse(`${at}.sources.${i}.path: must not hold '..'`);
    if (/[\0\n/]/.test(name) || name === "." || name === "..") throw refuse(`${at}.sources.${i}.name: is not the name of a file`);
  }
  const given = { filesHash, from, fromStage };
  const origins = Object.entries(given).flatMap(([field, value]) => (value === undefined ? [] : [field]));
  if (origins.length > 1) throw refuse(`${at}.${origins[1]}: cannot go with ${origins[0]}`);
  if (fromStage !== undefined && !stages.has(fromStage)) throw refuse(`${at}.fromStage: there is no stage '${fromStage}' before this one`);
  if (from !== undefined || fromStage !== undefined) return;
  if (filesHash === undefined) throw refuse(`${at}.filesHash: is required`);
  checkHash(filesHash, `${at}.filesHash`);
  if (!uploads.has(teamId, filesHash)) throw refuse(`${at}.filesHash: no files were uploaded under ${filesHash}`);
}

/** The error for a request to start a build that is not valid. The message begins with the member's path. */
export const refuse = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_build" });
