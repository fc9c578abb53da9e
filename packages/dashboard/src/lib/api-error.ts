/** An answer of the server that is not a success. `message` is a sentence for a person. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string | undefined;

  constructor(status: number, message: string, reason?: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { message?: unknown; error_code?: unknown };
  const message = typeof body.message === "string" ? body.message : `The server answered ${response.status}`;
  return new ApiError(response.status, message, typeof body.error_code === "string" ? body.error_code : undefined);
}

/** What a person reads about a failure. */
export function wordsOf(error: unknown): string {
  if (error instanceof TypeError && /fetch/i.test(error.message)) return "The server does not answer. Is it running, and are you online?";
  return error instanceof Error ? error.message : String(error);
}
