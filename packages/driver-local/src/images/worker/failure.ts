import { fromErrno } from "@boxyard/core/errno";
import { AppError, isAppError } from "@boxyard/core/errors";
import { hasErrno } from "../../sys/errors.ts";
import { BadTar } from "../tar/header.ts";
import { TooManyEntries } from "../unpack-errors.ts";
import type { Message } from "./jobs.ts";

/** Errors of zlib and zstd: the input is not in the format that its first bytes announce. */
const isPackingError = (error: unknown): boolean => {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && /^(Z_|ZSTD_|ERR_ZSTD)/.test(code);
};

function translated(error: unknown): AppError {
  if (isAppError(error)) return error;
  if (error instanceof BadTar) return new AppError("invalid_argument", `Bad layer: ${error.message}`, { reason: "bad_layer" });
  if (isPackingError(error)) {
    return new AppError("invalid_argument", `Bad layer: it cannot be decompressed (${(error as Error).message})`, { reason: "bad_layer" });
  }
  if (error instanceof TooManyEntries) {
    return new AppError("resource_exhausted", "The layer has more entries than allowed", { reason: "layer_too_large" });
  }
  if (hasErrno(error, "ENOSPC", "EDQUOT")) {
    return new AppError("resource_exhausted", "The storage pool is full; remove templates or sandboxes, or make the pool larger", {
      reason: "disk_full",
    });
  }
  return fromErrno("make a layer", error);
}

/** An error as the message that the worker sends. */
export function failureOf(error: unknown): Message {
  const { code, reason, message, details } = translated(error);
  return { type: "failed", code, reason, message, details };
}
