import { TEMPLATES } from "./dockerfile-copy.ts";
import { triggerText, unsupported } from "./dockerfile-lines.ts";
import type { CommandForm, DockerfileStage } from "./dockerfile-stage.ts";
import type { TemplateOrigin, TemplateParts, TemplateStage, TemplateStep } from "./steps.ts";

export function originOf(image: string): TemplateOrigin {
  return image.startsWith(TEMPLATES) ? { fromTemplate: image.slice(TEMPLATES.length) } : { fromImage: image };
}

/** False for an image or a template that only COPY names: nothing is built on it. */
export const isOfImage = ({ steps }: Pick<TemplateStage, "steps">) => steps.length > 0;

/** Key of an origin in maps of triggers. */
export const triggerKey = (origin: TemplateOrigin | undefined) => JSON.stringify(origin);

/** `FROM scratch`: what is copied into it is all there is. */
export const isEmpty = ({ origin }: DockerfileStage) => origin !== undefined && "fromImage" in origin && origin.fromImage === "scratch";

/** The template of one stage, with the others that it needs, each after what it needs itself. */
export function partsOf(wanted: DockerfileStage, known: ReadonlyMap<string, DockerfileStage>): TemplateParts {
  const stages = stagesOf(wanted, known);
  if (isEmpty(wanted)) refuseShellForms(wanted);
  const startCmd = wanted.startCommand();
  const readyCmd = startCmd === undefined ? undefined : wanted.healthCommand();
  const at = wanted.at(wanted.line);
  return {
    origin: wanted.origin as TemplateOrigin,
    steps: [...wanted.steps, ...endOf(wanted)],
    stages,
    onBuild: wanted.triggers.map(triggerText),
    startCmd,
    ...(readyCmd === undefined ? {} : { readyCmd }),
    force: false,
    at,
    startAt: wanted.commandLine === undefined ? undefined : wanted.at(wanted.commandLine),
  };
}

function stagesOf(wanted: DockerfileStage, known: ReadonlyMap<string, DockerfileStage>): TemplateStage[] {
  const stages = new Map<string, TemplateStage>();
  const need = (stage: DockerfileStage) => {
    stage.refusal?.();
    for (const image of stage.images) {
      const origin = originOf(image);
      if (!stages.has(image)) stages.set(image, { name: image, origin, steps: [], at: stage.at(stage.line) });
    }
    for (const name of stage.copiesFrom) {
      const other = [...known.values()].find((candidate) => candidate.name === name);
      if (!other || stages.has(name)) continue;
      need(other);
      stages.set(name, { name, origin: other.origin as TemplateOrigin, steps: other.steps, at: other.at(other.line) });
    }
  };
  need(wanted);
  return [...stages.values()];
}

/** Steps that set user and working directory where the file does not. An empty image has neither of the default ones. */
function endOf(wanted: DockerfileStage): TemplateStep[] {
  if (isEmpty(wanted)) return [];
  const at = wanted.at(wanted.line);
  const steps: TemplateStep[] = [];
  if (!wanted.has("USER")) steps.push({ type: "USER", args: ["user"], force: false, at });
  if (!wanted.has("WORKDIR")) steps.push({ type: "WORKDIR", args: ["/home/user"], force: false, at });
  return steps;
}

function refuseShellForms({ entrypoint, cmd, commandLine = 0, health, healthLine = 0 }: DockerfileStage): void {
  const refuse = (form: CommandForm | undefined, line: number, name: string) => {
    if (!form || "argv" in form) return;
    const what = `the shell form of ${name} after FROM scratch: there is no shell in an empty image; write ["program", "argument"]`;
    throw unsupported({ line, name, rest: "", heredocs: [] }, what);
  };
  refuse(entrypoint, commandLine, "ENTRYPOINT");
  refuse(cmd, commandLine, "CMD");
  refuse(health, healthLine, "HEALTHCHECK");
}
