import type { SandboxId, TeamId } from "@boxyard/core";
import type { EgressLists, SandboxFacts, SandboxRecord, TemplateVersion } from "../store/index.ts";
import { newInitKey } from "./tokens.ts";

/** What is wanted of a new sandbox, checked. */
export interface CreateSandbox {
  readonly teamId: TeamId;
  readonly template: TemplateVersion;
  readonly timeoutMs: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly envVars: Readonly<Record<string, string>>;
  readonly internetAccess: boolean;
  readonly allowPublicTraffic: boolean;
  readonly maskRequestHost?: string;
  readonly egress?: EgressLists;
}

/** From the first step of a create to its last; more than any part of it may take. */
export const CREATE_MS = 45_000;
/** Processes and threads of one sandbox. */
const MAX_PROCESSES = 2048;

/** The record of a sandbox that is about to be created. */
export function newRecord(id: SandboxId, wanted: CreateSandbox, now: number): SandboxRecord {
  const { template } = wanted;
  const facts: SandboxFacts = {
    alias: template.name,
    image: template.spec.image,
    resources: {
      cpuCount: template.spec.cpuCount,
      memoryBytes: template.spec.memoryMB * 2 ** 20,
      diskBytes: template.spec.diskMB * 2 ** 20,
      maxProcesses: MAX_PROCESSES,
    },
    internetAccess: wanted.internetAccess,
    allowPublicTraffic: wanted.allowPublicTraffic,
    ...(wanted.maskRequestHost === undefined ? {} : { maskRequestHost: wanted.maskRequestHost }),
    ...(wanted.egress === undefined ? {} : { egress: wanted.egress }),
    metadata: wanted.metadata,
    envVars: wanted.envVars,
    user: template.spec.user,
    workdir: template.spec.workdir,
    initKey: newInitKey(),
    timeoutMs: wanted.timeoutMs,
  };
  return {
    id,
    teamId: wanted.teamId,
    templateId: template.templateId,
    state: "creating",
    incarnation: 1,
    createdAt: now,
    endAt: now + CREATE_MS,
    facts,
  };
}
