import { AppError } from "@boxyard/core";
import type { LimitName } from "@boxyard/spec/platform";

/** Limits beside those that the operator sets for teams. One that a setting gives has the setting's name. */
type OtherLimit =
  | "apiKeys"
  | "eventStreams"
  | "recordingArchives"
  | "secrets"
  | "teams"
  | "triggers"
  | "uploads"
  | "volumeArchives"
  | "volumes"
  | "waitingBuilds"
  | "webhooks"
  | "BOXYARD_MAX_QUEUED_CREATES"
  | "BOXYARD_MAX_SANDBOXES"
  | "BOXYARD_RECORDINGS";

/** Every limit that a request can meet. */
export type MetLimitName = LimitName | OtherLimit;

interface MetLimit {
  readonly limit: MetLimitName;
  /** The most that there may be. */
  readonly value: number;
  readonly reason: string;
  /** What has the limit; a team when absent. */
  readonly of?: "server";
  /** What the caller can do: the end of the sentence. */
  readonly advice: string;
  /** Seconds after which a client may ask again; 1 when absent. */
  readonly retryAfter?: number;
}

/** The error for a limit that a request meets: one form for all, 429 with `Retry-After`, and the limit's name and value for people and for programs. */
export function limitMet({ limit, value, reason, of, advice, retryAfter = 1 }: MetLimit): AppError {
  return new AppError("resource_exhausted", `The ${of ?? "team"} has reached its limit ${limit} (${value}): ${advice}`, {
    reason,
    details: { limit, value, retryAfter },
  });
}

/** What the body of an answer says about the limit that was met; nothing for other errors. */
export function limitFields({ code, reason, details }: AppError): { error_code?: string; details?: { limit: string; value: number } } {
  const { limit, value } = details;
  if (code !== "resource_exhausted" || typeof limit !== "string" || typeof value !== "number") return {};
  return { error_code: reason, details: { limit, value } };
}
