import { AppError, HTTP_STATUS } from "@boxyard/core";
import { closing, internalText } from "../contracts.ts";

/** The `error` object of the Connect protocol. An error that is not an `AppError` is `internal`, and only its errno is reported. */
function connectError(error: unknown): { code: string; message: string } {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: "internal", message: internalText(error) };
}

/** The answer for a failed unary call: JSON body, and the HTTP status of the code. */
export function unaryError(error: unknown): Response {
  const body = connectError(error);
  const status = error instanceof AppError ? HTTP_STATUS[error.code] : 500;
  return Response.json(body, { status, headers: closing(error) });
}

/** JSON of the last envelope of a stream, with its error and metadata, if any. */
export function endOfStream(error?: unknown, metadata?: Readonly<Record<string, readonly string[]>>): string {
  return JSON.stringify({ ...(error !== undefined && { error: connectError(error) }), ...(metadata && { metadata }) });
}
