import type { SandboxId, TeamId } from "@boxyard/core";
import type { ApiKeyRecord, IdempotencyRecord } from "./records.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

export function keyOf(row: Row): ApiKeyRecord {
  const lastUsedAt = optionalNum(row.last_used_at);
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    name: text(row.name),
    hash: text(row.hash),
    hint: text(row.hint),
    createdAt: num(row.created_at),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
  };
}

export function idempotencyOf(row: Row): IdempotencyRecord {
  return {
    teamId: text(row.team_id) as TeamId,
    key: text(row.key),
    fingerprint: text(row.fingerprint),
    sandboxId: text(row.sandbox_id) as SandboxId,
    createdAt: num(row.created_at),
  };
}
