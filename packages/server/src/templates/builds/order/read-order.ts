import type { TeamId } from "@boxyard/core";
import type { StartBuild, TemplateStep } from "@boxyard/spec/platform";
import type { BuildRequest } from "../../../secrets/build-secrets.ts";
import type { BuildRecord, TemplateVersion } from "../../../store/index.ts";
import { checkMounts } from "../../../volumes/mounts.ts";
import type { Templates } from "../../templates.ts";
import { checkHash, type Uploads } from "../uploads.ts";
import type { BuildOrder, StageOrder } from "./build-order.ts";
import { checkStep, refuse } from "./check-step.ts";

const BASE_IMAGE = /^(?:docker\.io\/)?(?:e2bdev|boxyard)\/base(?::latest)?$/;
/** Our client resolves this name in Dockerfiles; other clients send it as the name of an image. */
const TEMPLATE_IMAGE = /^boxyard\/([a-z0-9_-]+(?::[a-z0-9_.-]+)?)$/;

interface OrderDeps {
  readonly templates: Templates;
  readonly uploads: Uploads;
}

/** Checks a request to start a build. Throws `invalid_argument`, whose message begins with the member's path; `not_found` for templates and tags. */
export function toOrder(build: BuildRecord, teamId: TeamId, request: BuildRequest, deps: OrderDeps): BuildOrder {
  for (const field of ["startCmd", "readyCmd"] as const) if (request[field]?.includes("\0")) throw refuse(`${field}: must not hold NUL`);
  checkMounts(request.volumeMounts);
  const names = new Set<string>();
  const stages = request.stages.map((stage, i) => {
    const order = { ...toStage(stage, `stages.${i}.`, teamId, names, deps), name: stage.name };
    if (names.has(stage.name)) throw refuse(`stages.${i}.name: there are two stages '${stage.name}'`);
    names.add(stage.name);
    return order;
  });
  const { fromArchive } = request;
  const archive = fromArchive === undefined ? {} : { fromArchive: checkArchive(request, fromArchive, teamId, deps.uploads) };
  return { ...toStage(request, "", teamId, names, deps), ...archive, build, teamId, request, stages };
}

function checkArchive({ fromImage, fromTemplate }: BuildRequest, fromArchive: string, teamId: TeamId, uploads: Uploads): string {
  if (fromImage !== undefined || fromTemplate !== undefined) throw refuse("fromArchive: cannot go with fromImage or fromTemplate");
  checkHash(fromArchive, "fromArchive");
  if (!uploads.has(teamId, fromArchive)) throw refuse(`fromArchive: no archive was uploaded under ${fromArchive}`);
  return fromArchive;
}

type Wanted = Pick<StartBuild, "fromImage" | "fromTemplate" | "fromImageRegistry" | "fromArchive" | "onBuildDone" | "steps">;

/** Checks one stage. `before`: names of the stages that it may copy from. */
function toStage(wanted: Wanted, at: string, teamId: TeamId, before: ReadonlySet<string>, { templates, uploads }: OrderDeps): StageOrder {
  const { fromImage, fromTemplate, fromImageRegistry: access, steps } = wanted;
  if (fromImage !== undefined && fromTemplate !== undefined) throw refuse(`${at}fromTemplate: cannot go with fromImage`);
  if (fromImage === undefined && fromTemplate === undefined && wanted.fromArchive === undefined)
    throw refuse(`${at}fromImage: is required, or fromTemplate`);
  if (access && fromImage === undefined) throw refuse(`${at}fromImageRegistry: needs fromImage`);
  for (const [i, step] of steps.entries()) checkStep(step, `${at}steps.${i}`, teamId, { uploads, stages: before });
  const stage = {
    steps,
    onBuildDone: wanted.onBuildDone,
    copiedFrom: copiedFrom(steps, at, teamId, templates),
    ...(access ? { access } : {}),
  };
  if (fromTemplate !== undefined) {
    return { ...stage, parent: { version: templates.resolve(teamId, fromTemplate, `${at}fromTemplate`), inherits: true } };
  }
  if (fromImage === "scratch") {
    for (const [i, { type }] of steps.entries())
      if (type === "RUN")
        throw refuse(`${at}steps.${i}.type: nothing can run in an empty image ('scratch'): copy into it what a step with programs makes`);
    return { ...stage, isEmpty: true, parent: { version: templates.resolve(teamId, "base", `${at}fromImage`), inherits: false } };
  }
  const own = templateOfImage(fromImage ?? "");
  if (own) return { ...stage, parent: { version: templates.resolve(teamId, own.name, `${at}fromImage`), inherits: own.inherits } };
  return { ...stage, ...(fromImage === undefined ? {} : { fromImage }) };
}

/** The template that an image's name stands for, if any: no registry is asked then. */
export function templateOfImage(image: string): { readonly name: string; readonly inherits: boolean } | undefined {
  // The published base image: the template `base` has the same content.
  if (BASE_IMAGE.test(image)) return { name: "base", inherits: false };
  const name = TEMPLATE_IMAGE.exec(image)?.[1];
  return name === undefined ? undefined : { name, inherits: true };
}

function copiedFrom(steps: readonly TemplateStep[], at: string, teamId: TeamId, templates: Templates): Map<number, TemplateVersion> {
  const found = new Map<number, TemplateVersion>();
  for (const [i, { from }] of steps.entries()) {
    if (from !== undefined) found.set(i, templates.resolve(teamId, from, `${at}steps.${i}.from`));
  }
  return found;
}
