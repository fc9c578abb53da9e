import { createHash } from "node:crypto";
import { AppError, atOnce, type Clock, type SandboxId, type TeamId } from "@boxyard/core";
import type { SandboxRecord, Store } from "../../store/index.ts";
import type { CreateGate } from "../create/create-gate.ts";
import { checkTimeout } from "../create/create-request.ts";
import type { Idempotency } from "../create/idempotency.ts";
import { type MakerParts, makeSandbox } from "../create/maker.ts";
import { CREATE_MS } from "../create/new-record.ts";
import { newInitKey } from "../tokens.ts";
import type { CreateTemplate } from "../transitions/create.ts";
import { captureFailure, snapshot } from "../transitions/snapshot.ts";
import type { SnapshotKeeper } from "../upkeep/snapshot-keeper.ts";

export interface ForkServiceParts extends MakerParts {
  readonly gate: CreateGate;
  readonly idempotency: Idempotency;
  readonly snapshotKeeper: SnapshotKeeper;
  readonly store: Store;
  readonly clock: Clock;
  readonly maxTimeoutHours: number;
}

export interface ForkWish {
  /** Lifetime of each copy. */
  readonly seconds: number;
  readonly count: number;
  readonly idempotencyKey?: string | undefined;
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal;
}

/** One copy, or the error that its create failed with. */
export type Forked = { readonly record: SandboxRecord } | { readonly error: AppError };

/** Copies of one fork that are made at once. Each passes the gate of all creates. */
const AT_ONCE = 8;

/** Makes copies of running sandboxes: one capture with memory, from which each copy starts with ids, tokens and a lifetime of its own. */
export class ForkService {
  private readonly parts: ForkServiceParts;

  constructor(parts: ForkServiceParts) {
    this.parts = parts;
  }

  /**
   * Returns an entry for each copy, in order. Throws `not_found`, `aborted` while the source does not run, `resource_exhausted` without a place for a
   * single copy, `unavailable` when the capture failed: then the source runs on, and no copy was made.
   */
  async fork(teamId: TeamId, id: SandboxId, { seconds, count, idempotencyKey, signal }: ForkWish): Promise<Forked[]> {
    checkTimeout(seconds, this.parts.maxTimeoutHours);
    // With a key the client may ask again for the answer, so a lost connection does not abort the fork.
    const caller = idempotencyKey === undefined ? signal : new AbortController().signal;
    return this.parts.idempotency.run({
      teamId,
      key: idempotencyKey,
      request: { fork: id, seconds, count },
      make: (first) => this.make(teamId, id, copyIds(first, count), seconds * 1000, caller),
      recall: (first) => this.recall(copyIds(first, count)),
    });
  }

  private async make(teamId: TeamId, id: SandboxId, ids: readonly SandboxId[], timeoutMs: number, caller: AbortSignal): Promise<Forked[]> {
    const { engine, admission, snapshotKeeper } = this.parts;
    const source = engine.sandboxes.visibleOf(teamId, id);
    admission.checkPlace();
    try {
      using held = snapshotKeeper.hold({ isPassing: true });
      await engine.run(source, snapshot, { id: held.id, memory: true }, { signal: caller }).catch((error: unknown) => {
        throw captureFailure("forked", id, error);
      });
      const copies = await this.copies(source.record, held.id, ids, timeoutMs, caller);
      await this.removeForgotten(copies, caller);
      return copies;
    } finally {
      // The copies do not need the snapshot. If its removal fails, the sweep removes it.
      await snapshotKeeper.collect().catch(() => {});
    }
  }

  private async copies(source: SandboxRecord, held: string, ids: readonly SandboxId[], timeoutMs: number, caller: AbortSignal) {
    const { gate, clock } = this.parts;
    const { templateEnv, commands } = source.facts;
    const input: CreateTemplate = { env: templateEnv ?? {}, ...commands, from: { snapshot: held, memory: true } };
    const copies: Forked[] = [];
    await atOnce(ids.entries(), AT_ONCE, async ([i, id]) => {
      const wanted = () => copyOf(source, id, timeoutMs, clock.now());
      copies[i] = await gate
        .run(caller, () => makeSandbox(this.parts, wanted(), input, caller))
        .then(
          (record) => ({ record }),
          (error: unknown) => ({ error: told(error) }),
        );
    });
    return copies;
  }

  /** Removes the copies when the caller has gone, who does not know their ids. */
  private async removeForgotten(copies: readonly Forked[], caller: AbortSignal): Promise<void> {
    if (!caller.aborted) return;
    const { sandboxes } = this.parts.engine;
    for (const copy of copies) {
      const sandbox = "record" in copy ? sandboxes.find(copy.record.id) : undefined;
      if (sandbox) await this.parts.engine.end(sandbox, "requested").catch(() => {});
    }
    throw new AppError("canceled", "The client has gone", { reason: "client_gone" });
  }

  private async recall(ids: readonly SandboxId[]): Promise<Forked[] | undefined> {
    const records = await Promise.all(ids.map((id) => this.parts.store.getSandbox(id)));
    if (records.every((record) => record?.startedAt === undefined)) return undefined;
    const missing = () => new AppError("aborted", "This copy could not be made when it was first asked for", { reason: "not_made" });
    return records.map((record) => (record?.startedAt === undefined ? { error: missing() } : { record }));
  }
}

/** The first id, and others that are derived from it: an idempotency key keeps one id, and leads to all copies this way. */
function copyIds(first: SandboxId, count: number): SandboxId[] {
  const nth = (i: number) => `i${createHash("sha256").update(`${first}/${i}`).digest("hex").slice(0, 20)}` as SandboxId;
  return Array.from({ length: count }, (_, i) => (i === 0 ? first : nth(i)));
}

/** The record of a copy: the source's facts and settings, with an id, an init key and a lifetime of its own. */
function copyOf(source: SandboxRecord, id: SandboxId, timeoutMs: number, now: number): SandboxRecord {
  const { owner, teamId, templateId, facts } = source;
  const { pauseMode: _, ...settings } = source.settings;
  return {
    id,
    owner,
    teamId,
    templateId,
    state: "creating",
    incarnation: 1,
    createdAt: now,
    endAt: now + CREATE_MS,
    facts: { ...facts, initKey: newInitKey(), timeoutMs },
    settings,
  };
}

const told = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError("internal", "The copy could not be made; the server's log says why", { cause: error });
