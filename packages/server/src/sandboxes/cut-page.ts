/** The first `limit` items of `rest`, all by default. `next` is the position of the last of them if more items follow, else undefined. */
export function cutPage<T, P>(
  rest: readonly T[],
  limit: number | undefined,
  positionOf: (item: T) => P,
): { page: T[]; next: P | undefined } {
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return { page, next: last !== undefined && rest.length > page.length ? positionOf(last) : undefined };
}
