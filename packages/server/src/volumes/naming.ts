import { AppError, isAppError } from "@boxyard/core";

/** A volume as users know it. */
interface Named {
  readonly id: string;
  readonly name: string;
}

/** What the driver says of one volume by its id, for users, who know it by its name. */
const SENTENCES: Readonly<Record<string, (name: string) => string>> = {
  volume_not_found: (name) => `Volume '${name}' is not on this machine any more: it was deleted, or its files were removed from the disk`,
  bad_volume: (name) =>
    `Volume '${name}' is damaged, so that its files cannot be used: bring them back on the machine's disk, or delete it`,
  volume_full: (name) =>
    `Volume '${name}' is full, or the machine's disk: remove files, give it a larger size, or make room on the machine`,
  volume_disk_full: (name) => `Volume '${name}' takes no writes, because the disk of the machine is full: make room there`,
};

/** The error with the name of the volume that it is about, if that is one of these; else the same error. */
export function withVolumeName(error: unknown, volumes: readonly Named[] = []): unknown {
  if (!(error instanceof AppError)) return error;
  const sentence = SENTENCES[error.reason];
  const found = volumes.find(({ id }) => id === error.details.volume);
  if (!sentence || !found) return error;
  return new AppError(error.code, sentence(found.name), { reason: error.reason, details: error.details, cause: error });
}

/** True when a volume that a sandbox needs is lost or damaged: the sandbox itself is there. */
export const isVolumeLost = (error: unknown): boolean => isAppError(error, "volume_not_found") || isAppError(error, "bad_volume");
