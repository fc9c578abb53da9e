import { BLOCKED_NETWORKS, type Clock, Rounds, type SandboxId, type TeamId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { SandboxDriver } from "@boxyard/driver";
import { parseRange } from "@boxyard/driver";
import type { Instruments } from "../prometheus/instruments.ts";
import type { NetworkRecordings } from "../recordings/network-recordings.ts";
import type { LivingSandboxes } from "../sandboxes/engine/living.ts";
import type { Store } from "../store/index.ts";
import { Denials } from "./denials.ts";
import { Entries, type NetworkEntry, ruleOf } from "./entries.ts";
import { type SuggestedPolicy, suggest } from "./suggest.ts";

const EVERY_MS = 1000;

export interface NetworkLogParts {
  readonly driver: Pick<SandboxDriver, "takeAttempts">;
  readonly sandboxes: LivingSandboxes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly instruments: Pick<Instruments, "addCounter">;
  readonly recordings: Pick<NetworkRecordings, "noteStopped">;
  readonly store: { readonly events: Pick<Store["events"], "note"> };
}

export interface NetworkLogQuery {
  /** Entries behind this one; without it the newest. */
  readonly cursor?: number | undefined;
  readonly limit: number;
  readonly verdict?: NetworkEntry["verdict"] | undefined;
  /** Only of names and addresses with this text. */
  readonly search?: string | undefined;
}

const CLOSED = BLOCKED_NETWORKS.map((network) => parseRange(network));

/** What the sandboxes of users have tried to reach, in memory: the newest thousand attempts of each that lives. */
export class NetworkLog {
  private readonly parts: NetworkLogParts;
  private readonly entries = new Map<SandboxId, Entries>();
  private readonly rounds: Rounds;
  private readonly denials: Denials;
  private denied = 0;
  /** Recordings that lack something, until the next round. */
  private stopped = new Map<string, string>();

  constructor(parts: NetworkLogParts) {
    this.parts = parts;
    const { clock, logger, instruments, store } = parts;
    this.denials = new Denials(store.events, clock);
    const onError = (error: unknown) =>
      logger.error({ err: error }, "what sandboxes try to reach could not be read; it will be tried again");
    this.rounds = new Rounds(() => this.round(), { clock, everyMs: EVERY_MS, onError });
    instruments.addCounter(
      "boxyard_network_denied_total",
      "What sandboxes tried to reach and were denied, as far as it is kept",
      () => this.denied,
    );
  }

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** The entries of a sandbox that match, oldest first. Throws `not_found`. */
  read(teamId: TeamId, id: SandboxId, { cursor, limit, verdict, search }: NetworkLogQuery): NetworkEntry[] {
    const matches = (entry: NetworkEntry) =>
      (verdict === undefined || entry.verdict === verdict) &&
      (search === undefined ||
        (entry.name ?? "").includes(search) ||
        (entry.address ?? "").includes(search) ||
        (entry.request ?? "").includes(search));
    const found = this.of(teamId, id).filter(matches);
    return cursor === undefined ? found.slice(-limit) : found.filter((entry) => entry.cursor > cursor).slice(0, limit);
  }

  /** The smallest policy that lets through what the sandbox has tried. Throws `not_found`. */
  suggest(teamId: TeamId, id: SandboxId): SuggestedPolicy {
    return suggest(this.of(teamId, id), isClosed);
  }

  /** Takes what the driver has; the newest attempts are in the answer of the same request. */
  private of(teamId: TeamId, id: SandboxId): readonly NetworkEntry[] {
    this.parts.sandboxes.visibleOf(teamId, id);
    this.look();
    return this.entries.get(id)?.all() ?? [];
  }

  private async round(): Promise<void> {
    this.look();
    const { stopped } = this;
    this.stopped = new Map();
    await this.parts.recordings.noteStopped(stopped);
    await this.denials.tell((id) => this.parts.sandboxes.find(id) !== undefined);
  }

  private look(): void {
    const { driver, sandboxes, clock } = this.parts;
    const { attempts, dropped, stopped = [] } = driver.takeAttempts();
    for (const [id, reason] of stopped) this.stopped.set(id, reason);
    for (const attempt of attempts) {
      const { sandboxId, isAllowed, rule: _, entry: __, ...facts } = attempt;
      const record = sandboxes.find(sandboxId)?.record;
      if (record?.owner.kind !== "user") continue;
      if (!isAllowed) {
        this.denied++;
        this.denials.add(sandboxId, record.teamId, facts);
      }
      this.entriesOf(sandboxId).add({ ...facts, verdict: isAllowed ? "allowed" : "denied", rule: ruleOf(attempt, record.settings.egress) });
    }
    for (const [id, count] of dropped) {
      if (sandboxes.find(id)?.record.owner.kind !== "user") continue;
      this.entriesOf(id).add({ at: clock.now(), verdict: "dropped", rule: "more than are kept of one sandbox", count });
    }
    for (const id of this.entries.keys()) if (!sandboxes.find(id)) this.entries.delete(id);
  }

  private entriesOf(id: SandboxId): Entries {
    const found = this.entries.get(id) ?? new Entries(this.parts.clock);
    this.entries.set(id, found);
    return found;
  }
}

function isClosed(address: string): boolean {
  const number = parseRange(address)?.first ?? -1;
  return CLOSED.some((range) => range !== undefined && range.first <= number && number <= range.last);
}
