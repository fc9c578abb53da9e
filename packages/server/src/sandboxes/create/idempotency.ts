import { createHash } from "node:crypto";
import { AppError, type Clock, newSandboxId, type SandboxId, type TeamId } from "@boxyard/core";
import type { SandboxRecord, Store } from "../../store/index.ts";

/** How long a key is kept (docs/decisions.md, Idempotency keys). */
export const KEEP_KEYS_MS = 24 * 3600 * 1000;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** A repeatable create: the same key with the same request gives the same sandbox. */
export class Idempotency {
  private readonly store: Store;
  private readonly clock: Clock;
  /** Sandboxes whose first create is being worked on now. A claim outside of it is of an earlier process, or of a create that has ended. */
  private readonly inFlight = new Set<SandboxId>();

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /**
   * Runs `make` under a key, or gives the record of what it made before. `request` is everything that was asked for. Throws
   * `idempotency_request_mismatch` for another request under the key, `idempotency_in_progress` while the first is being worked on.
   * A create that failed frees its key: its repeat works afresh.
   */
  async run(
    teamId: TeamId,
    key: string | undefined,
    request: unknown,
    make: (id: SandboxId) => Promise<SandboxRecord>,
  ): Promise<SandboxRecord> {
    const id = newSandboxId();
    if (key === undefined) return make(id);
    if (!KEY.test(key))
      throw new AppError("invalid_argument", "Idempotency-Key: must be 1 to 255 visible characters", { reason: "invalid_key" });
    const fingerprint = createHash("sha256").update(canonicalJson(request)).digest("hex");
    this.inFlight.add(id);
    try {
      const earlier = await this.claim(teamId, key, fingerprint, id);
      if (earlier) return earlier;
      try {
        return await make(id);
      } catch (error) {
        // A claim that stays, because the store is away, is one that a dying server left: the next request with the key takes it over.
        await this.store.dropKey(teamId, key, id).catch(() => {});
        throw error;
      }
    } finally {
      this.inFlight.delete(id);
    }
  }

  private async claim(teamId: TeamId, key: string, fingerprint: string, id: SandboxId): Promise<SandboxRecord | undefined> {
    for (;;) {
      const earlier = await this.store.claimKey({ teamId, key, fingerprint, sandboxId: id, createdAt: this.clock.now() });
      if (!earlier) return undefined;
      if (earlier.createdAt + KEEP_KEYS_MS > this.clock.now()) {
        if (earlier.fingerprint !== fingerprint) {
          throw new AppError("invalid_argument", "The Idempotency-Key was used with another request", {
            reason: "idempotency_request_mismatch",
          });
        }
        if (this.inFlight.has(earlier.sandboxId)) {
          throw new AppError("aborted", "The first request with this Idempotency-Key is still being worked on", {
            reason: "idempotency_in_progress",
            details: { retryAfter: 1, shouldRetry: true },
          });
        }
        const record = await this.store.getSandbox(earlier.sandboxId);
        if (record?.startedAt !== undefined) return record;
      }
      // Too old, or of a create that a dying server left half-made; such a sandbox has been removed.
      await this.store.dropKey(teamId, key, earlier.sandboxId);
    }
  }
}

/** JSON with sorted members: the order in which a client writes them means nothing. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) =>
    v !== null && typeof v === "object" && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  );
}
