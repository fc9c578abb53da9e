/** `isDeep`: every fault, as with `./boxyard test chaos` by hand. */
export function readFaultsConfig(env: Readonly<Record<string, string | undefined>> = process.env): { readonly isDeep: boolean } {
  return { isDeep: Number(env.BOXYARD_CHAOS_SECONDS ?? 0) > 0 };
}
