import { Restrictions } from "@boxyard/spec/platform";
import { z } from "zod";
import type { ImageFacts, ImageSettings } from "../../registry/index.ts";
import type { TemplateSpec } from "../../store/index.ts";

/** Label of an image of ours under which stands, as JSON, what OCI has no word for. */
const LABEL = "boxyard.template";
const MAX_TEXT = 1 << 17;

const command = z
  .string()
  .max(MAX_TEXT)
  .refine((text) => !text.includes("\0"))
  .optional();
const Label = z.object({ version: z.literal(1), startCmd: command, readyCmd: command, restrictions: Restrictions.optional() });
const Place = z.object({
  user: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/),
  workdir: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/),
});

/** What an image says of the template that it was made of. */
export interface TemplateFacts {
  readonly user: string;
  readonly workdir: string;
  readonly startCmd?: string;
  readonly readyCmd?: string;
  readonly restrictions?: Restrictions;
}

/** A template as an image that other platforms can run too: its start command is the image's. */
export function imageOfTemplate({ image, env, user, workdir, startCmd, readyCmd, restrictions }: TemplateSpec): ImageFacts {
  const label = { version: 1, ...(startCmd && { startCmd }), ...(readyCmd && { readyCmd }), ...(restrictions && { restrictions }) };
  const settings: ImageSettings = {
    user,
    workdir,
    env,
    entrypoint: [],
    cmd: ["/bin/bash", "-l", ...(startCmd ? ["-c", startCmd] : [])],
    shell: [],
    labels: { [LABEL]: JSON.stringify(label) },
    exposedPorts: [],
    stopSignal: "",
  };
  return { layers: image.layers, settings };
}

/** What `imageOfTemplate` has put into an image; undefined for images of others, and for what does not look like ours. */
export function templateFactsOf({ labels, user, workdir }: ImageSettings): TemplateFacts | undefined {
  const text = Object.hasOwn(labels, LABEL) ? labels[LABEL] : undefined;
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const [label, place] = [Label.safeParse(value), Place.safeParse({ user, workdir })];
  if (!label.success || !place.success) return undefined;
  const { startCmd, readyCmd, restrictions } = label.data;
  return { ...place.data, ...(startCmd && { startCmd }), ...(readyCmd && { readyCmd }), ...(restrictions && { restrictions }) };
}
