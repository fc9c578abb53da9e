import { randomUUID } from "node:crypto";
import { isAppError, type TeamId } from "@boxyard/core";
import type { Idempotency } from "../idempotency.ts";
import type { VolumeRecord } from "../store/index.ts";
import type { NewVolume, Volumes } from "./volumes.ts";

export interface CreateOnceParts {
  readonly volumes: Volumes;
  readonly idempotency: Pick<Idempotency, "run">;
}

/**
 * Creates a volume as `Volumes.create` does. A client that has not got the answer sends the same request with the same key again, and gets the same volume;
 * one that a dead server has not finished, or that was deleted meanwhile, is made anew.
 */
export function createVolumeOnce({ volumes, idempotency }: CreateOnceParts, teamId: TeamId, wanted: NewVolume, key: string | undefined) {
  return idempotency.run<VolumeRecord, string>({
    teamId,
    key,
    request: { volume: wanted },
    newId: () => randomUUID(),
    make: (id) => volumes.create(teamId, wanted, id),
    recall: (id) =>
      volumes.get(teamId, id).catch((error: unknown) => {
        if (isAppError(error, "volume_not_found")) return undefined;
        throw error;
      }),
  });
}
