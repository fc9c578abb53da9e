import { Restrictions } from "@boxyard/spec/platform";
import { z } from "zod";
import type { ImageFacts, ImageSettings } from "../../registry/index.ts";
import type { RunAs, TemplateSpec } from "../../store/index.ts";

/** Label of an image with the facts of a template, as JSON, that OCI has no field for. */
const LABEL = "boxyard.template";
const MAX_TEXT = 1 << 17;

const command = z
  .string()
  .max(MAX_TEXT)
  .refine((text) => !text.includes("\0"))
  .optional();
const Place = z.object({
  user: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/),
  workdir: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/),
});
const Label = z.object({
  version: z.literal(1),
  startCmd: command,
  readyCmd: command,
  runAs: Place.optional(),
  restrictions: Restrictions.optional(),
});

/** The facts of a template that its image holds. */
export interface TemplateFacts {
  readonly user: string;
  readonly workdir: string;
  readonly startCmd?: string;
  readonly readyCmd?: string;
  readonly restrictions?: Restrictions;
  readonly runAs?: RunAs;
  readonly onBuild?: readonly string[];
}

/** Makes an image of a template. Other platforms can run it too: its command is the template's start command. */
export function imageOfTemplate(spec: TemplateSpec): ImageFacts {
  const { image, env, user, workdir, startCmd, onBuild } = spec;
  const label = { version: 1, ...labelled(spec) };
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
    ...(onBuild ? { onBuild } : {}),
  };
  return { layers: image.layers, settings };
}

type Labelled = z.infer<typeof Label>;

/** The members of the label that are set. */
function labelled({ startCmd, readyCmd, runAs, restrictions }: Partial<Labelled>) {
  return { ...(startCmd && { startCmd }), ...(readyCmd && { readyCmd }), ...(runAs && { runAs }), ...(restrictions && { restrictions }) };
}

/** Reads the facts that `imageOfTemplate` has put into an image; undefined for other images, and for a label of another form. */
export function templateFactsOf({ labels, user, workdir, onBuild }: ImageSettings): TemplateFacts | undefined {
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
  return { ...place.data, ...labelled(label.data), ...(onBuild ? { onBuild } : {}) };
}
