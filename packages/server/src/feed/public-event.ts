import type { PlatformEvent } from "@boxyard/spec/platform";
import type { EventDetail, StoreEvent } from "../store/index.ts";

/** Members of the old and new values that holders of the scope `read` may see. What else events have may hold what users keep secret. */
const SHOWN: ReadonlySet<string> = new Set([
  ...[
    "state",
    "reason",
    "alias",
    "templateId",
    "owner",
    "resources",
    "startedAt",
    "endAt",
    "endedAt",
    "incarnation",
    "usage",
    "pauseMode",
    "pauseCause",
    "idleMs",
    "deleteAt",
    "retention",
    "maxResources",
    "internetAccess",
  ],
  ...[
    "name",
    "status",
    "tag",
    "tags",
    "public",
    "isPublic",
    "buildId",
    "kind",
    "scopes",
    "hint",
    "sizeBytes",
    "node",
    "memory",
    "bytes",
    "changed",
    "version",
    "denied",
  ],
]);

function shown(detail: EventDetail | undefined): EventDetail | undefined {
  const entries = Object.entries(detail ?? {}).filter(([name]) => SHOWN.has(name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** An event as clients get it. */
export function present({ cursor, at, action, targetId, actor, before, after }: StoreEvent): PlatformEvent {
  const [old, now] = [shown(before), shown(after)];
  return {
    id: cursor,
    timestamp: new Date(at).toISOString(),
    action,
    targetID: targetId,
    actor: {
      ...(actor.kind === "key" ? { kind: "key" as const, keyID: actor.id } : { kind: actor.kind }),
      ...(actor.address !== undefined && { address: actor.address }),
    },
    ...(old && { before: old }),
    ...(now && { after: now }),
  };
}
