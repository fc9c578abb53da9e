import { createHmac, randomBytes } from "node:crypto";

/** Tokens that are derived from the sandbox's id and this server's seed: the same for the sandbox's whole life, and not stored. */
export class Tokens {
  private readonly seed: string;

  constructor(seed: string) {
    this.seed = seed;
  }

  /** `envdAccessToken` on the wire. */
  access(sandboxId: string): string {
    return createHmac("sha256", this.seed).update(sandboxId).digest("hex");
  }

  /** `trafficAccessToken` on the wire. */
  traffic(sandboxId: string): string {
    return createHmac("sha256", this.seed).update(`sandbox-traffic-${sandboxId}`).digest("hex");
  }
}

export const newSeed = (): string => randomBytes(32).toString("hex");
export const newInitKey = (): string => randomBytes(32).toString("hex");
