import { createHash } from "node:crypto";
import { AppError, newSandboxId, type SandboxId, type TeamId } from "@boxyard/core";
import type { SandboxRecord, Store } from "../../store/index.ts";
import { checkTimeout } from "../create/create-request.ts";
import type { Operations } from "../engine/operations.ts";
import { captureFailure } from "../transitions/snapshot.ts";
import type { SnapshotKeeper } from "../upkeep/snapshot-keeper.ts";
import { type Copied, type ForkContext, type ForkParts, fork } from "./fork.ts";

export interface ForkServiceParts extends ForkParts {
  readonly operations: Operations;
  readonly snapshotKeeper: Pick<SnapshotKeeper, "collect">;
  readonly store: Store;
  readonly maxHoursOf: (teamId: TeamId) => number;
}

/** One copy, or the error of its create. */
export type Forked = { readonly record: SandboxRecord } | { readonly error: AppError };

export interface ForkWish {
  /** Lifetime of each copy. */
  readonly seconds: number;
  readonly count: number;
  readonly idempotencyKey?: string | undefined;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

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
    checkTimeout(seconds, this.parts.maxHoursOf(teamId));
    // With a key the client may ask again for the answer, so a lost connection does not abort the fork.
    const caller = idempotencyKey === undefined ? signal : new AbortController().signal;
    return this.parts.admission.once({
      teamId,
      key: idempotencyKey,
      request: { fork: id, seconds, count },
      make: (first) => this.make(teamId, id, copyIds(first, count), seconds * 1000, caller),
      recall: (first) => this.recall(first),
    });
  }

  /** The id of the operation is that of the first copy, to which an idempotency key leads. */
  private async make(teamId: TeamId, id: SandboxId, ids: readonly SandboxId[], timeoutMs: number, caller: AbortSignal): Promise<Forked[]> {
    const { engine, admission, operations, snapshotKeeper } = this.parts;
    const source = engine.sandboxes.visibleOf(teamId, id);
    const operation = ids[0] ?? newSandboxId();
    admission.checkPlace({ ...source.record, id: operation });
    const context: ForkContext = {
      parts: this.parts,
      source,
      captured: source.record,
      ids,
      timeoutMs,
      caller,
      checkpoint: crypto.randomUUID(),
      holder: { kind: "operation", id: operation },
      copies: [],
    };
    try {
      return await this.told(await operations.run(fork, { id: operation, teamId, input: { ids }, about: id }, context, caller));
    } catch (error) {
      throw captureFailure("forked", id, error);
    } finally {
      // The copies need the checkpoint no longer. If its removal fails, the sweep removes it.
      await snapshotKeeper.collect().catch(() => {});
    }
  }

  /** What an earlier fork has told or would have told; undefined for one that was undone. */
  private async recall(operation: SandboxId): Promise<Forked[] | undefined> {
    const found = await this.parts.store.operations.find(operation);
    return found?.output === undefined ? undefined : this.told(found.output as readonly Copied[]);
  }

  private told(copies: readonly Copied[]): Promise<Forked[]> {
    const { engine, store } = this.parts;
    return Promise.all(
      copies.map(async (copy) => {
        if ("error" in copy) return { error: new AppError(copy.error.code, copy.error.message, { reason: copy.error.reason }) };
        const record = engine.sandboxes.find(copy.id)?.record ?? (await store.getSandbox(copy.id));
        return record ? { record } : { error: new AppError("not_found", "This copy has ended", { reason: "sandbox_not_found" }) };
      }),
    );
  }
}

/** The first id, and others that are derived from it: an idempotency key keeps one id, and leads to all copies this way. */
function copyIds(first: SandboxId, count: number): SandboxId[] {
  const nth = (i: number) => `i${createHash("sha256").update(`${first}/${i}`).digest("hex").slice(0, 20)}` as SandboxId;
  return Array.from({ length: count }, (_, i) => (i === 0 ? first : nth(i)));
}
