import { AppError } from "@boxyard/core";

/**
 * The page of a list that begins behind the item that `token` names, or at the first item without a token. `next` is the token of the following
 * page; undefined on the last page. Throws `invalid_argument` that names `field` when the token's item is not in the list.
 */
export function pageAfter<T>(
  items: readonly T[],
  idOf: (item: T) => string,
  { token, limit, field }: { token: string | undefined; limit: number; field: string },
): { page: readonly T[]; next: string | undefined } {
  let from = 0;
  if (token) {
    const id = Buffer.from(token, "base64url").toString();
    from = items.findIndex((item) => idOf(item) === id) + 1;
    if (from === 0) throw new AppError("invalid_argument", `${field}: is not one of this listing`, { reason: "invalid_query" });
  }
  const page = items.slice(from, from + limit);
  const last = page.at(-1);
  return { page, next: last === undefined || from + limit >= items.length ? undefined : Buffer.from(idOf(last)).toString("base64url") };
}
