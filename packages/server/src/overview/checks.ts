import type { Clock } from "@boxyard/core";
import type { Fingerprint, FingerprintCheck } from "@boxyard/driver";
import type { ServerConfig } from "../config.ts";
import type { Store } from "../store/index.ts";
import { orphanCheck } from "./orphan-check.ts";

/** Checks of the machine are not done more often: they start programs, and read what changes slowly. */
const FRESH_MS = 60_000;

interface ChecksParts {
  readonly config: Pick<ServerConfig, "dataDir" | "orphanMinutes">;
  readonly store: Pick<Store, "health">;
  readonly clock: Clock;
  readonly fingerprint: () => Promise<Fingerprint>;
}

interface Checked {
  readonly checks: readonly FingerprintCheck[];
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly monotonic: number;
}

/** What `boxyard doctor` checks, for a server that runs. However many ask, the machine is looked at once a minute. */
export class ServerChecks {
  private readonly parts: ChecksParts;
  private known: Checked | undefined;
  private looking: Promise<Checked> | undefined;

  constructor(parts: ChecksParts) {
    this.parts = parts;
  }

  async now(): Promise<{ checks: readonly FingerprintCheck[]; verdict: FingerprintCheck["status"]; at: number }> {
    const { clock, config } = this.parts;
    const isFresh = this.known !== undefined && clock.monotonic() - this.known.monotonic < FRESH_MS;
    const { checks: ofMachine, at } = isFresh && this.known ? this.known : await this.look();
    const checks = [...ofMachine, this.ofStore(), orphanCheck(config, clock.now())];
    const has = (status: FingerprintCheck["status"]) => checks.some((check) => check.status === status);
    return { checks, verdict: has("fail") ? "fail" : has("warn") ? "warn" : "ok", at };
  }

  private look(): Promise<Checked> {
    const { clock, fingerprint } = this.parts;
    this.looking ??= fingerprint()
      .catch((error: unknown) => ({ checks: [failed(error)] }))
      .then(({ checks }) => {
        this.known = { checks, at: clock.now(), monotonic: clock.monotonic() };
        return this.known;
      })
      .finally(() => {
        this.looking = undefined;
      });
    return this.looking;
  }

  private ofStore(): FingerprintCheck {
    const { trouble } = this.parts.store.health;
    if (!trouble) return { name: "store", status: "ok", found: "It takes changes" };
    return {
      name: "store",
      status: "warn",
      found: `Nothing new is made: ${trouble.message}`,
      fix: "Running sandboxes go on. Make room, or see to the disk of the store; it ends by itself then",
    };
  }
}

const failed = (error: unknown): FingerprintCheck => ({
  name: "machine",
  status: "warn",
  found: `could not check: ${error instanceof Error ? error.message : String(error)}`,
  fix: "Run `boxyard doctor` on the machine",
});
