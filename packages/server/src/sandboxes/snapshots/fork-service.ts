import { createHash } from "node:crypto";
import { AppError, type SandboxId, type TeamId } from "@boxyard/core";
import type { Store } from "../../store/index.ts";
import { checkTimeout } from "../create/create-request.ts";
import { captureFailure } from "../transitions/snapshot.ts";
import { type ForkContext, type Forked, type ForkParts, fork } from "./fork.ts";

export interface ForkServiceParts extends ForkParts {
  readonly store: Store;
  readonly maxTimeoutHours: number;
}

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
    checkTimeout(seconds, this.parts.maxTimeoutHours);
    // With a key the client may ask again for the answer, so a lost connection does not abort the fork.
    const caller = idempotencyKey === undefined ? signal : new AbortController().signal;
    return this.parts.admission.once({
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
    const held = snapshotKeeper.hold();
    const copies: Forked[] = [];
    const context: ForkContext = { parts: this.parts, source, captured: source.record, ids, timeoutMs, caller, held, copies };
    await engine.runSequence(fork, context, id, caller).catch((error: unknown) => {
      throw captureFailure("forked", id, error);
    });
    return copies;
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
