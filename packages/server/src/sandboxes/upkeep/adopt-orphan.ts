import { isAppError, type TeamId, type TemplateId, TimeLimit } from "@boxyard/core";
import type { KeptSpec, SandboxDriver } from "@boxyard/driver";
import { OF_POOL } from "../../pool-label.ts";
import type { SandboxRecord, TemplateSpec } from "../../store/records.ts";
import type { SandboxSettings } from "../../store/sandbox-settings.ts";
import type { EngineParts } from "../engine/parts.ts";
import { HOME, type PlacedHandle, type Placement } from "../placement.ts";
import type { TemplateSource } from "../ports.ts";
import { newInitKey } from "../tokens.ts";
import { initBodyOf } from "../transitions/create.ts";

/** Shortest lifetime of an adopted orphan from now on: the time that it had left is not known. */
const LEAST_MS = 3600_000;
const HAND_OVER_MS = 15_000;
/** What the record of an adopted orphan lacks; the log names it. */
export const UNKNOWN_OF_ORPHAN = ["metadata", "environment", "end time", "what happens at its end"] as const;

export interface AdoptionParts extends Pick<EngineParts, "agent" | "authorities" | "clock" | "events" | "tokens"> {
  readonly placement: Placement;
  readonly templates: Pick<TemplateSource, "get" | "resolve">;
  /** The team that owns adopted orphans: a store has one. */
  readonly teamId: TeamId;
}

/**
 * Makes the record of a sandbox that the store does not know from the spec that the driver has kept. Undefined: the sandbox cannot go on, because
 * it is half made, its processes have ended, or it belongs to a build, which ended with its server.
 */
export async function recordOfOrphan(parts: AdoptionParts, handle: PlacedHandle): Promise<SandboxRecord | undefined> {
  const { clock, teamId } = parts;
  const driver = parts.placement.driverOf(handle);
  const state = await stateOf(driver, handle);
  if (state === undefined) return undefined;
  const kept = await driver.keptSpec(handle);
  const { labels } = kept;
  if (labels.build !== undefined || labels[OF_POOL] !== undefined) return undefined;
  const template = templateOf(parts, labels);
  const now = clock.now();
  const createdAt = numberOf(labels.createdAt) ?? now;
  const timeoutMs = Math.max(numberOf(labels.timeoutMs) ?? 0, LEAST_MS);
  const generation = state === "paused" ? await driver.generation(handle.sandboxId) : undefined;
  return {
    id: handle.sandboxId,
    owner: { kind: "user" },
    teamId,
    templateId: template.id,
    state,
    incarnation: handle.incarnation,
    createdAt,
    startedAt: createdAt,
    endAt: now + timeoutMs,
    facts: {
      alias: labels.alias ?? template.id,
      image: { digest: kept.image.digest ?? template.spec?.image.digest ?? "", layers: kept.image.layers },
      resources: kept.resources,
      envVars: {},
      user: labels.user ?? template.spec?.user ?? "user",
      workdir: labels.workdir ?? template.spec?.workdir ?? "/",
      // A spec of an earlier version has no key. A resume from memory does not need the key; a boot from the disk uses the new one.
      initKey: kept.initKey ?? newInitKey(),
      timeoutMs,
      ...(handle.node !== HOME && { node: handle.node }),
      ...(template.spec && { templateEnv: template.spec.env }),
      ...(kept.restrictions && { restrictions: kept.restrictions }),
      // Their names were lost with the store.
      ...(kept.volumes && { volumes: kept.volumes.map(({ volume, ...at }) => ({ id: volume, name: volume, ...at })) }),
    },
    settings: {
      ...settingsOf(driver, kept),
      ...(generation && { pauseMode: generation.memory ? ("full" as const) : ("filesystem" as const) }),
    },
  };
}

async function stateOf(driver: SandboxDriver, handle: PlacedHandle): Promise<"running" | "paused" | undefined> {
  try {
    const { phase } = await driver.inspect(handle);
    return phase === "running" || phase === "paused" ? phase : undefined;
  } catch (error) {
    if (isAppError(error, "not_found")) return undefined;
    throw error;
  }
}

/** The template that the labels name: by its id, else by its name, because a new store may have it under another id. */
function templateOf({ templates, teamId }: AdoptionParts, labels: KeptSpec["labels"]): { id: TemplateId; spec?: TemplateSpec } {
  const id = (labels.template ?? "") as TemplateId;
  if (templates.get(id)) return { id };
  try {
    const { templateId, spec } = templates.resolve(teamId, labels.alias ?? "");
    return { id: templateId, spec };
  } catch {
    // The template was lost with the store; the sandbox does not need it any more.
    return { id };
  }
}

/** Settings that are not known get their safe value: ports ask for the token, and at its end the sandbox is paused if the driver can do that. */
function settingsOf(driver: SandboxDriver, { network, labels }: KeptSpec): SandboxSettings {
  const { checkpoint } = driver.capabilities;
  const pauseAs = checkpoint === "memory" ? "full" : "filesystem";
  return {
    metadata: {},
    egress: network,
    allowPublicTraffic: labels.publicTraffic === "yes",
    ...(checkpoint !== "none" && { lifecycle: { pauseAs, wakes: false } }),
  };
}

/**
 * Gives the agent of an adopted orphan that runs its new token: until then the agent asks for the token of the lost store. Programs keep their
 * environment. If the agent does not answer, the sandbox stays, and clients may reach it after a pause and a resume.
 */
export async function handOver(parts: AdoptionParts, record: SandboxRecord): Promise<void> {
  const { agent, events, clock } = parts;
  const { driver } = parts.placement.nodeOf(record);
  const { envVars: _, ...body } = initBodyOf(parts, record, {});
  const handle = { driver: driver.name, sandboxId: record.id, incarnation: record.incarnation };
  using limit = new TimeLimit(HAND_OVER_MS, clock);
  try {
    await agent.init(await driver.address(handle), record.facts.initKey, body, limit.signal);
  } catch (error) {
    events.handOverFailed(record.id, error);
  }
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
