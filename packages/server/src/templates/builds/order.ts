import { AppError, type TeamId } from "@boxyard/core";
import type { StartBuild, TemplateStep } from "@boxyard/spec/platform";
import type { BuildRecord, TemplateVersion } from "../../store/index.ts";
import type { Templates } from "../registry.ts";
import type { BuildOrder } from "./run-build.ts";
import { STEP_TYPES } from "./steps.ts";
import { checkHash, type Uploads } from "./uploads.ts";

const refuse = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_build" });
const BASE_IMAGE = /^(?:docker\.io\/)?e2bdev\/base(?::latest)?$/;
const ENV_NAME = /^[^=\0]+$/;
const MODE = /^[0-7]{1,4}$/;

/** A request to start a build, checked. Throws `invalid_argument` that names the member, `not_found` for templates and tags. */
export function toOrder(
  build: BuildRecord,
  teamId: TeamId,
  request: StartBuild,
  deps: { templates: Templates; uploads: Uploads },
): BuildOrder {
  const { fromImage, fromTemplate, fromArchive, fromImageRegistry: access } = request;
  if (fromImage !== undefined && fromTemplate !== undefined) throw refuse("fromTemplate: cannot go with fromImage");
  if (fromArchive !== undefined) checkArchive(request, teamId, deps.uploads);
  else if (fromImage === undefined && fromTemplate === undefined) throw refuse("fromImage: is required, or fromTemplate");
  if (access && fromImage === undefined) throw refuse("fromImageRegistry: needs fromImage");
  for (const [i, step] of request.steps.entries()) checkStep(step, `steps.${i}`, teamId, deps.uploads);
  for (const field of ["startCmd", "readyCmd"] as const) if (request[field]?.includes("\0")) throw refuse(`${field}: must not hold NUL`);
  const copiedFrom = new Map<number, TemplateVersion>();
  for (const [i, { from }] of request.steps.entries()) {
    if (from !== undefined) copiedFrom.set(i, deps.templates.resolve(teamId, from, `steps.${i}.from`));
  }
  const order = { build, teamId, request, copiedFrom, ...(access ? { access } : {}) };
  if (fromTemplate !== undefined) {
    return { ...order, parent: { version: deps.templates.resolve(teamId, fromTemplate, "fromTemplate"), inherits: true } };
  }
  // The reference's own base image: ours has the same in it, and needs no registry.
  if (fromImage !== undefined && BASE_IMAGE.test(fromImage)) {
    return { ...order, parent: { version: deps.templates.resolve(teamId, "base", "fromImage"), inherits: false } };
  }
  return order;
}

function checkArchive({ fromImage, fromTemplate, fromArchive = "" }: StartBuild, teamId: TeamId, uploads: Uploads): void {
  if (fromImage !== undefined || fromTemplate !== undefined) throw refuse("fromArchive: cannot go with fromImage or fromTemplate");
  checkHash(fromArchive, "fromArchive");
  if (!uploads.has(teamId, fromArchive)) throw refuse(`fromArchive: no archive was uploaded under ${fromArchive}`);
}

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

function checkStep({ type, args, filesHash, from }: TemplateStep, at: string, teamId: TeamId, uploads: Uploads): void {
  const [least, most] = (Object.hasOwn(COUNTS, type) ? COUNTS[type] : undefined) ?? [];
  if (least === undefined || most === undefined) throw refuse(`${at}.type: '${type.slice(0, 50)}' is none of ${STEP_TYPES.join(", ")}`);
  if (args.length < least || args.length > most) {
    throw refuse(`${at}.args: ${type} takes ${least === most ? least : `${least} to ${most}`} arguments, not ${args.length}`);
  }
  const nul = args.findIndex((arg) => arg.includes("\0"));
  if (nul >= 0) throw refuse(`${at}.args.${nul}: must not hold NUL`);
  if (type === "ENV" || type === "ARG") {
    if (args.length % 2 !== 0) throw refuse(`${at}.args: ${type} takes pairs of name and value`);
    const bad = args.findIndex((arg, i) => i % 2 === 0 && !ENV_NAME.test(arg));
    if (bad >= 0) throw refuse(`${at}.args.${bad}: '${args[bad]?.slice(0, 100)}' is not a variable name`);
  }
  if (from !== undefined && type !== "COPY") throw refuse(`${at}.from: is for COPY alone`);
  if (type === "COPY" || type === "ADD") {
    if (args[3] && !MODE.test(args[3])) throw refuse(`${at}.args.3: '${args[3].slice(0, 50)}' is not a mode in octal digits`);
    if (from !== undefined && filesHash !== undefined) throw refuse(`${at}.from: cannot go with filesHash`);
    if (from !== undefined) return;
    if (filesHash === undefined) throw refuse(`${at}.filesHash: is required`);
    checkHash(filesHash, `${at}.filesHash`);
    if (!uploads.has(teamId, filesHash)) throw refuse(`${at}.filesHash: no files were uploaded under ${filesHash}`);
  }
}
