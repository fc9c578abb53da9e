import { createHash } from "node:crypto";
import { AppError, type Clock, newSandboxId, type SandboxId, type TeamId } from "@boxyard/core";
import type { IdempotencyRecord, Store } from "../../store/index.ts";

/** How long a key is kept (docs/decisions.md, Idempotency keys). */
export const KEEP_KEYS_MS = 24 * 3600 * 1000;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Work that can be repeated under a key. */
export interface Repeatable<T> {
  readonly teamId: TeamId;
  readonly key: string | undefined;
  /** Everything that the client asked for. */
  readonly request: unknown;
  /** The id for the new sandbox, or for the first of several; a new one by default. */
  readonly id?: SandboxId | undefined;
  /** `renew` gives another id, under the same key, when nothing can be made with `id`. */
  make(id: SandboxId, renew: () => Promise<SandboxId>): Promise<T>;
  /** The result of an earlier `make`; undefined when that made nothing. */
  recall(id: SandboxId): Promise<T | undefined>;
}

/** Makes creates repeatable: the same key with the same request gives the same sandboxes. */
export class Idempotency {
  private readonly store: Store;
  private readonly clock: Clock;
  /** Sandboxes whose create is in progress here. A claim of any other sandbox is of an earlier process, or of a create that has ended. */
  private readonly inFlight = new Set<SandboxId>();

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /**
   * Runs `make` under a key, or recalls the result of an earlier `make`. Throws reason `idempotency_request_mismatch` for another request under
   * the key, `idempotency_in_progress` while the first request is in progress. A failed `make` frees its key, so a repeat does the work again.
   */
  async run<T>({ teamId, key, request, id: given, make, recall }: Repeatable<T>): Promise<T> {
    let id = given ?? newSandboxId();
    if (key === undefined) return make(id, async () => newSandboxId());
    if (!KEY.test(key))
      throw new AppError("invalid_argument", "Idempotency-Key: must be 1 to 255 visible characters", { reason: "invalid_key" });
    const fingerprint = createHash("sha256").update(canonicalJson(request)).digest("hex");
    const claimAs = (sandboxId: SandboxId) => this.claim({ teamId, key, fingerprint, sandboxId, createdAt: this.clock.now() }, recall);
    const ids = [id];
    this.inFlight.add(id);
    const renew = async () => {
      await this.store.dropKey(teamId, key, id);
      id = newSandboxId();
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

  private async claim<T>(claim: IdempotencyRecord, recall: Repeatable<T>["recall"]): Promise<T | undefined> {
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
        if (this.inFlight.has(earlier.sandboxId)) {
          throw inProgress();
        }
        const made = await recall(earlier.sandboxId);
        if (made !== undefined) return made;
      }
      // The claim is too old, or its server died during the create, and the sandbox has been removed.
      await this.store.dropKey(teamId, key, earlier.sandboxId);
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
