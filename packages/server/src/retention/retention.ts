import { type Clock, Rounds } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { RetentionKind, Retention as Rules } from "@boxyard/spec/platform";
import { type KeptItem, type Kind, type KindParts, kindsOf } from "./kinds.ts";
import { type Planned, planOf } from "./plan.ts";

const EVERY_MS = 60_000;
const HOUR_MS = 3600_000;
const WARN_HOURS = 24;
/** Most deletions, and announcements, of one kind in one round; the next round does the others. */
const AT_ONCE = 20;

export interface RetentionParts extends KindParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Group {
  readonly rules: Rules;
  readonly items: KeptItem[];
}

/**
 * Deletes what the rules of teams and templates say: paused sandboxes, snapshots and builds without a tag that are too old, too many or too large. The rules of
 * a template hold for what was made of it, in place of its team's. Nothing has a rule by default. Each deletion is announced before, by an event.
 */
export class Retention {
  private readonly parts: RetentionParts;
  private readonly kinds: readonly Kind[];
  private readonly rounds: Rounds;
  private dates = new Map<string, number>();

  constructor(parts: RetentionParts) {
    this.parts = parts;
    this.kinds = kindsOf(parts);
    const onError = (error: unknown) => parts.logger.error({ err: error }, "a round of retention failed; it will be tried again");
    this.rounds = new Rounds(() => this.once(), { clock: parts.clock, everyMs: EVERY_MS, isFirstAtOnce: true, onError });
  }

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** When something is deleted, as the last round has found; undefined if no rule says so. */
  dateOf(kind: RetentionKind, id: string): number | undefined {
    return this.dates.get(`${kind}/${id}`);
  }

  /** One round. A kind that fails is logged, and keeps no other from its turn. */
  async once(): Promise<void> {
    const { store, templates } = this.parts;
    const ofTeams = new Map((await store.teams.list()).map(({ id, retention }) => [id, retention]));
    const dates = new Map<string, number>();
    for (const kind of this.kinds) {
      const rulesFor = (item: Pick<KeptItem, "teamId" | "templateId">): [owner: string, rules: Rules] => {
        const own = templates.get(item.templateId)?.record.settings.retention;
        return own?.[kind.name] ? [item.templateId, own] : [item.teamId, ofTeams.get(item.teamId) ?? {}];
      };
      await this.round(kind, rulesFor, dates).catch((error: unknown) =>
        this.parts.logger.error({ err: error, kind: kind.name }, "retention of one kind failed; it will be tried again"),
      );
    }
    this.dates = dates;
  }

  private async round(
    kind: Kind,
    rulesFor: (item: Pick<KeptItem, "teamId" | "templateId">) => [string, Rules],
    dates: Map<string, number>,
  ): Promise<void> {
    const { store, clock } = this.parts;
    const notices = await store.retention.list(kind.name);
    const withBytes = (item: Pick<KeptItem, "teamId" | "templateId">) => {
      const rule = rulesFor(item)[1][kind.name];
      return rule !== undefined && "maxMB" in rule;
    };
    const groups = new Map<string, Group>();
    for (const item of await kind.list(withBytes)) {
      const [owner, rules] = rulesFor(item);
      if (!rules[kind.name]) continue;
      const group = groups.get(owner) ?? { rules, items: [] };
      group.items.push(item);
      groups.set(owner, group);
    }
    const now = clock.now();
    const planned: (Planned & { readonly item: KeptItem })[] = [];
    for (const { rules, items } of groups.values()) {
      const timing = { now, warnMs: (rules.warnHours ?? WARN_HOURS) * HOUR_MS, announcedAt: (id: string) => notices.get(id) };
      const byId = new Map(items.map((item) => [item.id, item]));
      for (const plan of planOf(items, rules[kind.name] ?? {}, timing)) planned.push({ ...plan, item: byId.get(plan.id) as KeptItem });
    }
    for (const { id, deleteAt } of planned) dates.set(`${kind.name}/${id}`, deleteAt);
    // What no rule deletes any more is announced anew when one does.
    const due = new Set(planned.filter(({ announceAt }) => announceAt <= now).map(({ id }) => id));
    await store.retention.forget(
      kind.name,
      [...notices.keys()].filter((id) => !due.has(id)),
    );
    const fresh = planned.filter(({ id }) => due.has(id) && !notices.has(id)).slice(0, AT_ONCE);
    for (const { item, deleteAt } of fresh) {
      const { id, teamId } = item;
      await store.retention.announce({ kind: kind.name, id, teamId, action: `${kind.target}.expiring`, deleteAt });
    }
    const announced = new Set([...notices.keys(), ...fresh.map(({ id }) => id)]);
    await this.remove(kind, planned.filter(({ id, deleteAt }) => announced.has(id) && deleteAt <= now).slice(0, AT_ONCE));
  }

  private async remove(kind: Kind, due: readonly { readonly item: KeptItem }[]): Promise<void> {
    const { logger } = this.parts;
    for (const { item } of due) {
      if (this.rounds.signal.aborted) return;
      try {
        await kind.remove(item);
        logger.info({ kind: kind.name, id: item.id }, "deleted by a rule of retention");
      } catch (error) {
        logger.warn({ err: error, kind: kind.name, id: item.id }, "not deleted by a rule of retention; it will be tried again");
      }
    }
  }
}
