import type { SandboxId, TeamId, TemplateId } from "@boxyard/core";
import type { RetentionKind } from "@boxyard/spec/platform";
import type { MetricHistory } from "../metrics/history.ts";
import type { NetworkRecordings } from "../recordings/network-recordings.ts";
import type { Engine } from "../sandboxes/engine/engine.ts";
import type { EventTarget, Store, TemplateVersion } from "../store/index.ts";
import type { SnapshotCatalog } from "../templates/snapshots/snapshot-catalog.ts";
import { isOfSnapshots, type Templates } from "../templates/templates.ts";
import type { Kept } from "./plan.ts";

export interface KeptItem extends Kept {
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
}

/** A kind of things that are deleted by rules. */
export interface Kind {
  readonly name: RetentionKind;
  /** What its events are about. */
  readonly target: EventTarget;
  /** `withBytes`: for teams and templates whose rule has a size; finding it takes time. */
  list(withBytes: (item: Pick<KeptItem, "teamId" | "templateId">) => boolean): Promise<KeptItem[]>;
  /** Deletes one, unless something stands on it by now. */
  remove(item: KeptItem): Promise<void>;
}

export interface KindParts {
  readonly engine: Engine;
  readonly templates: Templates;
  readonly snapshotCatalog: SnapshotCatalog;
  readonly store: Store;
  readonly history: Pick<MetricHistory, "lastOf">;
  readonly recordings: Pick<NetworkRecordings, "listAll" | "remove">;
}

/** Every kind, in the order in which they are looked for. */
export const kindsOf = (parts: KindParts): readonly Kind[] => [pausedSandboxes(parts), snapshots(parts), builds(parts), recordings(parts)];

function pausedSandboxes({ engine, history }: KindParts): Kind {
  return {
    name: "paused",
    target: "sandbox",
    async list(withBytes) {
      const items: KeptItem[] = [];
      for (const { state, record, driver } of engine.sandboxes.ofUsers()) {
        if (state !== "paused") continue;
        const { id, teamId, templateId, endAt } = record;
        const memory = withBytes(record) ? await driver.generation(id).catch(() => undefined) : undefined;
        const bytes = withBytes(record) ? (memory?.memoryBytes ?? 0) + ((await history.lastOf(record))?.diskUsed ?? 0) : 0;
        items.push({ id, teamId, templateId, at: endAt, bytes, isInUse: false });
      }
      return items;
    },
    async remove({ id, at }) {
      const sandbox = engine.sandboxes.find(id as SandboxId);
      if (sandbox) await engine.expire(sandbox, at);
    },
  };
}

function snapshots({ engine, templates, snapshotCatalog, store }: KindParts): Kind {
  const bytesOf = async ({ spec }: TemplateVersion) => (spec.snapshot && (await store.checkpoints.find(spec.snapshot.id))?.bytes) ?? 0;
  return {
    name: "snapshots",
    target: "template",
    async list(withBytes) {
      const items: KeptItem[] = [];
      for (const template of templates.all()) {
        if (!isOfSnapshots(template)) continue;
        for (const [id, tags] of Map.groupBy(template.versions, ({ buildId }) => buildId)) {
          const [first] = tags;
          if (!first) continue;
          const { teamId, templateId } = first;
          const at = Math.max(...tags.map(({ assignedAt }) => assignedAt));
          const isInUse = engine.sandboxes.usersOfBuilds(new Set([id])).length > 0;
          items.push({ id, teamId, templateId, at, bytes: withBytes(first) ? await bytesOf(first) : 0, isInUse });
        }
      }
      return items;
    },
    async remove({ id, templateId }) {
      const template = templates.get(templateId);
      if (template) await snapshotCatalog.remove(template, id);
    },
  };
}

function builds({ engine, templates, store }: KindParts): Kind {
  return {
    name: "builds",
    target: "build",
    async list() {
      const untagged = templates.all().flatMap((template) => template.untagged);
      return untagged.map(({ buildId: id, teamId, templateId, assignedAt: at }) => {
        const isInUse = engine.sandboxes.usersOfBuilds(new Set([id])).length > 0;
        return { id, teamId, templateId, at, bytes: 0, isInUse };
      });
    },
    async remove({ id, templateId }) {
      if (engine.sandboxes.usersOfBuilds(new Set([id])).length > 0) return;
      await store.templates.removeUntagged(id);
      await templates.refresh(templateId);
    },
  };
}

/** Of no template: the team's rules alone hold for them. */
const NO_TEMPLATE = "" as TemplateId;

function recordings({ recordings: all }: KindParts): Kind {
  return {
    name: "recordings",
    target: "recording",
    async list() {
      return (await all.listAll()).map(({ id, teamId, changedAt: at, bytes, isInUse }) => ({
        ...{ id, teamId, templateId: NO_TEMPLATE, at, bytes, isInUse },
      }));
    },
    async remove({ id }) {
      const found = (await all.listAll()).find((one) => one.id === id);
      if (found) await all.remove(found.teamId, found.name);
    },
  };
}
