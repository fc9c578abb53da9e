import { newSandboxId, type TeamId, type TemplateId } from "@boxyard/core";
import { SCOPES } from "@boxyard/spec/platform";
import type { ApiKeyRecord, SandboxRecord } from "./records.ts";

const IMAGE = { digest: "sha256:aa", layers: ["sha256:bb"] };

/** A record of a sandbox, for tests. */
export function sampleRecord(change: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id: newSandboxId(),
    owner: { kind: "user" },
    teamId: "team" as TeamId,
    templateId: "template" as TemplateId,
    state: "creating",
    incarnation: 1,
    createdAt: 1_700_000_000_000,
    endAt: 1_700_000_300_000,
    facts: {
      alias: "base",
      image: IMAGE,
      resources: { cpuCount: 2, memoryBytes: 1 << 30, diskBytes: 10 * 2 ** 30, maxProcesses: 100 },
      envVars: {},
      user: "user",
      workdir: "/home/user",
      initKey: "00",
      timeoutMs: 1000,
    },
    settings: { egress: { internetAccess: true }, allowPublicTraffic: true, metadata: { é: "ü'\"" } },
    ...change,
  };
}

/** A key of the store for tests. */
export function keyRecord(change: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  const of = { id: "k1", teamId: "team" as TeamId, name: "first", kind: "key" as const, scopes: SCOPES };
  return { ...of, hash: "h1", hint: "e2b_12", createdAt: 5, ...change };
}
