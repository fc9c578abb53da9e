/** True when `error` carries one of these errno names as its own code. */
export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && codes.includes(code);
}
