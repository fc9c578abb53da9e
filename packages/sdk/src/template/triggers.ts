import type { ApiClient } from "../connection/api-client.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { isOfImage, triggerKey } from "./dockerfile-parts.ts";
import type { TemplateParts, TemplateStage } from "./steps.ts";
import { triggersOf } from "./template-api.ts";

/**
 * A template of a Dockerfile with the triggers (ONBUILD) of the images and templates that its stages begin with. The file is read again with
 * them, because a trigger may set what later lines use. What the program has added to the template stays after them.
 */
export async function withTriggers(api: ApiClient, parts: TemplateParts, options: RequestOptions): Promise<TemplateParts> {
  const { dockerfile } = parts;
  if (!dockerfile) return parts;
  const { parts: read, again } = dockerfile;
  const found = new Map<string, readonly string[]>();
  const begun = [read, ...(read.stages ?? []).filter(isOfImage)];
  for (const origin of new Map(begun.map((stage) => [triggerKey(stage.origin), stage.origin])).values()) {
    const triggers = await triggersOf(api, origin, options);
    if (triggers.length > 0) found.set(triggerKey(origin), triggers);
  }
  if (found.size === 0) return parts;
  const done = <T extends TemplateParts | TemplateStage>(stage: T): T => ({ ...stage, onBuildDone: found.get(triggerKey(stage.origin)) });
  const next = again(found);
  const own = (parts.stages ?? []).filter((stage) => !read.stages?.includes(stage));
  return done({
    ...parts,
    steps: [...next.steps, ...parts.steps.slice(read.steps.length)],
    stages: [...(next.stages ?? []).map((stage) => (isOfImage(stage) ? done(stage) : stage)), ...own],
    onBuild: next.onBuild,
    ...(parts.startCmd === read.startCmd ? { startCmd: next.startCmd, startAt: next.startAt } : {}),
    ...(parts.readyCmd === read.readyCmd ? { readyCmd: next.readyCmd } : {}),
  });
}
