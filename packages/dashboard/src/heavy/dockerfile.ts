import { parseDockerfile } from "@boxyard/sdk/dockerfile";
import type { TemplateBuildStartV2, TemplateStep } from "@boxyard/spec/platform-types";

type Parts = ReturnType<typeof parseDockerfile>;
type Step = Parts["steps"][number];

/**
 * The order of a build for the text of a Dockerfile, as the command line reads it. Throws, with the line, for what is wrong in it, and for what takes files of
 * a directory: a page has none.
 */
export function orderOfDockerfile(text: string): TemplateBuildStartV2 {
  const parts = parseDockerfile(text, { context: ".", ignoreFile: ".dockerignore", args: {} });
  const { origin, startCmd, readyCmd, onBuild = [], onBuildDone = [] } = parts;
  if ("fromArchive" in origin) throw new Error("A page has no archive to begin with");
  const stages = (parts.stages ?? []).map((stage) => {
    if ("fromArchive" in stage.origin) throw new Error("A page has no archive to begin with");
    return {
      name: stage.name,
      ...stage.origin,
      steps: stage.steps.map(sent),
      ...(stage.onBuildDone && { onBuildDone: [...stage.onBuildDone] }),
    };
  });
  return {
    ...origin,
    ...(stages.length > 0 && { stages }),
    steps: parts.steps.map(sent),
    ...(onBuild.length > 0 && { onBuild: [...onBuild] }),
    ...(onBuildDone.length > 0 && { onBuildDone: [...onBuildDone] }),
    ...(startCmd && { startCmd }),
    ...(readyCmd && { readyCmd }),
  } as TemplateBuildStartV2;
}

function sent({ copy, bound, at, ...step }: Step): TemplateStep {
  if (copy || bound) {
    const line = at?.line === undefined ? "" : `Line ${at.line}: `;
    throw new Error(
      `${line}${step.type} takes files that are sent with the build, which this page cannot do. Use 'boxyard template build', or RUN with curl or git.`,
    );
  }
  return step as TemplateStep;
}
