import { AppError } from "@boxyard/core";

/** The error of a `resize` below what the sandbox uses. */
export function inUse(what: "memory" | "disk", usedBytes: number, wantedBytes: number): AppError {
  const mib = (bytes: number) => Math.ceil(bytes / 2 ** 20);
  return new AppError("failed_precondition", `The sandbox uses ${mib(usedBytes)} MiB of ${what}, more than ${mib(wantedBytes)} MiB`, {
    reason: `${what}_in_use`,
    details: { usedBytes },
  });
}
