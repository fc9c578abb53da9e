/** The errno name (`ENOENT`) of an error, undefined for an error that is not from the kernel. Causes are not searched. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}
