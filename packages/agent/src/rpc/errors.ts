import { AppError, HTTP_STATUS } from "@boxyard/core";
import { closing, internalText } from "../contracts.ts";

/** The `error` object of the Connect protocol. What is not an `AppError` says nothing but the kernel's error, or that it is ours to mend. */
export function connectError(error: unknown): { code: string; message: string } {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: "internal", message: internalText(error) };
}

/** A unary failure: JSON body, and the HTTP status that belongs to the code. */
export function unaryError(error: unknown): Response {
  const body = connectError(error);
  const status = error instanceof AppError ? HTTP_STATUS[error.code] : 500;
  return Response.json(body, { status, headers: closing(error) });
}

/** The last envelope of a stream, with or without an error, and with what else is to be told. */
export function endOfStream(error?: unknown, metadata?: Readonly<Record<string, readonly string[]>>): string {
  return JSON.stringify({ ...(error !== undefined && { error: connectError(error) }), ...(metadata && { metadata }) });
}
