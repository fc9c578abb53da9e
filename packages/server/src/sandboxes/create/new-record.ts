import { newSandboxId, type SandboxId, type TeamId, type TemplateId } from "@boxyard/core";
import type { ImageRef, ResourceLimits } from "@boxyard/driver";
import type {
  SandboxFacts,
  SandboxRecord,
  SandboxSettings,
  SandboxVolume,
  StartCommands,
  TemplateSpec,
  TemplateVersion,
} from "../../store/index.ts";
import { newInitKey } from "../tokens.ts";
import { CREATE_MS } from "../transitions/create.ts";
import { limitsOf, resizedTo, type Size } from "./size.ts";

/** A checked request for a new sandbox. */
export interface CreateSandbox {
  readonly teamId: TeamId;
  readonly template: Pick<TemplateVersion, "templateId" | "buildId" | "name" | "spec">;
  readonly timeoutMs: number;
  readonly envVars: Readonly<Record<string, string>>;
  /** Those of the variables whose values are secrets. */
  readonly secretEnv?: readonly string[];
  readonly settings: SandboxSettings;
  readonly volumes?: readonly SandboxVolume[];
  readonly name?: string | undefined;
  /** Where it is not that of the template. */
  readonly size?: Size | undefined;
}

/** The record of a sandbox that is about to be created. */
export function newRecord(id: SandboxId, wanted: CreateSandbox, now: number): SandboxRecord {
  const { template } = wanted;
  const facts: SandboxFacts = {
    alias: template.name,
    image: template.spec.image,
    resources: resourcesFor(template.spec, wanted.size),
    envVars: wanted.envVars,
    ...(wanted.secretEnv && { secretEnv: wanted.secretEnv }),
    user: template.spec.user,
    workdir: template.spec.workdir,
    initKey: newInitKey(),
    timeoutMs: wanted.timeoutMs,
    templateEnv: template.spec.env,
    buildId: template.buildId,
    ...commandsOf(template.spec),
    ...(template.spec.restrictions && { restrictions: template.spec.restrictions }),
    ...(wanted.volumes?.length && { volumes: wanted.volumes }),
  };
  return {
    id,
    owner: { kind: "user" },
    teamId: wanted.teamId,
    templateId: template.templateId,
    state: "creating",
    incarnation: 1,
    ...(wanted.name !== undefined && { name: wanted.name }),
    createdAt: now,
    endAt: now + CREATE_MS,
    facts,
    settings: wanted.settings,
  };
}

/** The limits of a sandbox of a template. */
export function resourcesFor(
  { cpuCount, memoryMB, diskMB }: Pick<TemplateSpec, "cpuCount" | "memoryMB" | "diskMB">,
  size: Size = {},
): ResourceLimits {
  return resizedTo(limitsOf({ cpuCount, memoryBytes: memoryMB * 2 ** 20, diskBytes: diskMB * 2 ** 20 }), size);
}

function commandsOf({ startCmd, readyCmd, runAs, ports }: StartCommands): Pick<SandboxFacts, "commands"> {
  if (!startCmd && !readyCmd) return {};
  return { commands: { ...(startCmd && { startCmd }), ...(readyCmd && { readyCmd }), ...(runAs && { runAs }), ...(ports && { ports }) } };
}

/** A record whose create begins now. */
export const dated = (record: SandboxRecord, now: number): SandboxRecord => ({ ...record, createdAt: now, endAt: now + CREATE_MS });

/** A build's request for a sandbox. */
export interface BuildSandbox {
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
  readonly buildId: string;
  readonly image: ImageRef;
  readonly resources: ResourceLimits;
}

/** Builds end their sandboxes themselves. After this time, another server forgets the records that a lost server left in a shared store. */
const BUILD_MS = 24 * 3600_000;

/** The record of a sandbox in which steps of a build run. */
export function newBuildRecord({ teamId, templateId, buildId, image, resources }: BuildSandbox, now: number): SandboxRecord {
  return {
    id: newSandboxId(),
    owner: { kind: "build", id: buildId },
    teamId,
    templateId,
    state: "creating",
    incarnation: 1,
    createdAt: now,
    endAt: now + CREATE_MS,
    facts: { alias: "build", image, resources, envVars: {}, user: "root", workdir: "/", initKey: newInitKey(), timeoutMs: BUILD_MS },
    settings: { metadata: {}, egress: { internetAccess: true }, allowPublicTraffic: false },
  };
}

/** A finished version of a template, from which a build starts a sandbox to try it. */
export interface Trial {
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
  readonly buildId: string;
  readonly spec: TemplateSpec;
}

/** The record of a sandbox of a template, as users get them, but owned by the build that ends it. It has nothing of the build's environment. */
export function newTrialRecord({ teamId, templateId, buildId, spec }: Trial, now: number): SandboxRecord {
  const settings: SandboxSettings = { metadata: {}, egress: { internetAccess: true }, allowPublicTraffic: false };
  const template = { templateId, buildId, name: "build", spec };
  const record = newRecord(newSandboxId(), { teamId, template, timeoutMs: BUILD_MS, envVars: {}, settings }, now);
  return { ...record, owner: { kind: "build", id: buildId } };
}
