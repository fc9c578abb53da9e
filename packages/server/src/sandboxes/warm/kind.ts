import { newSandboxId, type TeamId } from "@boxyard/core";
import type { DriverCapabilities, SnapshotRef } from "@boxyard/driver";
import type { SandboxRecord, SandboxSettings } from "../../store/index.ts";
import { newInitKey } from "../tokens.ts";
import { CREATE_MS, type CreateTemplate } from "../transitions/create.ts";

/** Sandboxes that can take each other's place until a user has one: same version of a template, same limits, same start. */
export interface Kind {
  readonly key: string;
  /** The record of a sandbox of the pool, but for its id, its state and its times; with an empty init key. */
  readonly record: Omit<SandboxRecord, "id" | "state" | "createdAt" | "endAt">;
  readonly template: CreateTemplate;
}

/** What decides about the kind of a sandbox of the pool. */
interface KeyParts extends Pick<SandboxRecord, "templateId"> {
  readonly facts: Pick<SandboxRecord["facts"], "buildId" | "resources">;
  readonly settings: Pick<SandboxSettings, "egress">;
  /** What it was started from. */
  readonly checkpointId?: string | undefined;
}

const NO_TEAM = "" as TeamId;
const NO_SETTINGS = { metadata: {}, egress: { internetAccess: true }, allowPublicTraffic: false } as const satisfies SandboxSettings;
/** The lifetime that a sandbox of the pool is given; after it, another server forgets what a lost server has left in a shared store. */
const POOL_MS = 24 * 3600_000;

/**
 * The kind that a create asks for. Undefined for what a sandbox that runs already cannot become: one with volumes, with rules for requests, with a
 * proxy or with a name, or a copy of another sandbox. Where the network of a running sandbox is fixed, those with the internet and those without it are kinds
 * of their own, and one with lists has none.
 */
export function kindOf(
  wanted: SandboxRecord,
  template: CreateTemplate,
  { network }: Pick<DriverCapabilities, "network">,
): Kind | undefined {
  const { name, settings, templateId } = wanted;
  const { volumes, node, alias, image, resources, user, workdir, templateEnv, restrictions, buildId, commands } = wanted.facts;
  if (volumes || node !== undefined || name !== undefined || settings.setup) return undefined;
  if (settings.rules || settings.secrets || settings.egressProxy || settings.recording) return undefined;
  if (template.from && !template.bootsInstead) return undefined;
  const { internetAccess } = settings.egress;
  if (!network && !Bun.deepEquals(settings.egress, { internetAccess })) return undefined;
  const poolSettings = network ? NO_SETTINGS : { ...NO_SETTINGS, egress: { internetAccess } };
  const key = keyOf({ templateId, facts: wanted.facts, settings: poolSettings, checkpointId: template.from?.snapshot });
  // Only what the template says: nothing of this user may be in a sandbox that another gets.
  const facts = {
    ...{ alias, image, resources, user, workdir, envVars: {}, initKey: "", timeoutMs: POOL_MS },
    ...(templateEnv && { templateEnv }),
    ...(restrictions && { restrictions }),
    ...(buildId !== undefined && { buildId }),
    ...(commands && { commands }),
  };
  const who = { owner: { kind: "pool" as const }, teamId: NO_TEAM, templateId };
  return { key, template, record: { ...who, facts, settings: poolSettings, incarnation: 1 } };
}

/** The key of the kind to which a sandbox of the pool belongs. */
export function keyOf({ templateId, facts, settings, checkpointId }: KeyParts): string {
  const { cpuCount, memoryBytes, diskBytes, maxProcesses } = facts.resources;
  return JSON.stringify([
    templateId,
    facts.buildId,
    cpuCount,
    memoryBytes,
    diskBytes,
    maxProcesses,
    checkpointId,
    settings.egress.internetAccess,
  ]);
}

/** What a sandbox of the pool was started from. */
export const fromOf = ({ checkpointId }: SandboxRecord): SnapshotRef | undefined =>
  checkpointId === undefined ? undefined : { snapshot: checkpointId, memory: true };

/** The record of another sandbox of the pool. */
export function newMember({ record }: Kind, now: number): SandboxRecord {
  return {
    ...record,
    id: newSandboxId(),
    state: "creating",
    createdAt: now,
    endAt: now + Math.max(CREATE_MS, POOL_MS),
    facts: { ...record.facts, initKey: newInitKey() },
  };
}
