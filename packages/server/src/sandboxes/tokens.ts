import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Tokens that are derived from an id and this server's seed: the same for the whole life of the sandbox or volume, and not stored. */
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

  /** `token` of a volume on the wire: the right to its files, without an API key. */
  volume(volumeId: string): string {
    return createHmac("sha256", this.seed).update(`volume-${volumeId}`).digest("hex");
  }

  isOfVolume(token: string, volumeId: string): boolean {
    const [given, wanted] = [token, this.volume(volumeId)].map((text) => createHash("sha256").update(text).digest()) as [Buffer, Buffer];
    return timingSafeEqual(given, wanted);
  }
}

export const newSeed = (): string => randomBytes(32).toString("hex");
export const newInitKey = (): string => randomBytes(32).toString("hex");
