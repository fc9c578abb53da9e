import { createHash } from "node:crypto";
import { AppError, type Clock, newSandboxId, type SandboxId, type TeamId } from "@boxyard/core";
import type { IdempotencyRecord, Store } from "./store/index.ts";

/** How long a key is kept (docs/decisions.md, Idempotency keys). */
export const KEEP_KEYS_MS = 24 * 3600 * 1000;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Work that can be repeated under a key. */
export interface Repeatable<T, Id extends string = SandboxId> {
  readonly teamId: TeamId;
  readonly key: string | undefined;
  /** Everything that the client asked for. */
  readonly request: unknown;
  /** The id for what is made, or for the first of several; a new one by default. */
  readonly id?: Id | undefined;
  /** Makes an id; that of a sandbox by default. */
  readonly newId?: (() => Id) | undefined;
  /** `renew` gives another id, under the same key, when nothing can be made with `id`. */
  make(id: Id, renew: () => Promise<Id>): Promise<T>;
  /** The result of an earlier `make`; undefined when that made nothing. */
  recall(id: Id): Promise<T | undefined>;
}

/** Makes creates repeatable: the same key with the same request gives the same sandboxes, or the same volume. */
export class Idempotency {
  private readonly store: Store;
  private readonly clock: Clock;
  /** Ids of what is being made here. A claim of any other id is of an earlier process, or of a create that has ended. */
  private readonly inFlight = new Set<string>();

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /**
   * Runs `make` under a key, or recalls the result of an earlier `make`. Throws reason `idempotency_request_mismatch` for another request under
   * the key, `idempotency_in_progress` while the first request is in progress. A failed `make` frees its key, so a repeat does the work again.
   */
  async run<T, Id extends string = SandboxId>(work: Repeatable<T, Id>): Promise<T> {
    const { teamId, key, request, make, recall, newId = newSandboxId as () => string as () => Id } = work;
    let id = work.id ?? newId();
    if (key === undefined) return make(id, async () => newId());
    if (!KEY.test(key))
      throw new AppError("invalid_argument", "Idempotency-Key: must be 1 to 255 visible characters", { reason: "invalid_key" });
    const fingerprint = createHash("sha256").update(canonicalJson(request)).digest("hex");
    const claimAs = (madeId: Id) => this.claim({ teamId, key, fingerprint, madeId, createdAt: this.clock.now() }, recall);
    const ids = [id];
    this.inFlight.add(id);
    const renew = async () => {
      await this.store.dropKey(teamId, key, id);
      id = newId();
      ids.push(id);
      this.inFlight.add(id);
      // Another request may have taken the key between the two: then it is that one's.
      if (await claimAs(id)) throw inProgress();
      return id;
    };
    try {
      const earlier = await claimAs(id);
      if (earlier) return earlier;
      try {
        return await make(id, renew);
      } catch (error) {
        // If the store does not answer, the claim stays as if this server had died: the next request with the key takes it over.
        await this.store.dropKey(teamId, key, id).catch(() => {});
        throw error;
      }
    } finally {
      for (const used of ids) this.inFlight.delete(used);
    }
  }

  private async claim<T, Id extends string>(claim: IdempotencyRecord, recall: Repeatable<T, Id>["recall"]): Promise<T | undefined> {
    const { teamId, key, fingerprint } = claim;
    for (;;) {
      const earlier = await this.store.claimKey(claim);
      if (!earlier) return undefined;
      if (earlier.createdAt + KEEP_KEYS_MS > this.clock.now()) {
        if (earlier.fingerprint !== fingerprint) {
          throw new AppError("invalid_argument", "The Idempotency-Key was used with another request", {
            reason: "idempotency_request_mismatch",
          });
        }
        // The same id: a sandbox of the pool that an earlier server did not get to hand out, which is to be handed out now.
        if (earlier.madeId !== claim.madeId && this.inFlight.has(earlier.madeId)) throw inProgress();
        const made = await recall(earlier.madeId as Id);
        if (made !== undefined) return made;
      }
      // The claim is too old, or its server died during the create, and what was made has been removed.
      await this.store.dropKey(teamId, key, earlier.madeId);
    }
  }
}

const inProgress = () =>
  new AppError("aborted", "The first request with this Idempotency-Key is still being worked on", {
    reason: "idempotency_in_progress",
    details: { retryAfter: 1, shouldRetry: true },
  });

/** JSON with sorted members, because their order in a request has no meaning. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) =>
    v !== null && typeof v === "object" && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  );
}
