/** A position in a list that is ordered by a time and, where times are equal, by an id. It stays valid when the item that had it is removed. */
export interface Position {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly id: string;
}

export type Order = (a: Position, b: Position) => number;

export const byId: Order = (a, b) => (a.id === b.id ? 0 : a.id < b.id ? -1 : 1);
export const oldestFirst: Order = (a, b) => a.at - b.at || byId(a, b);
/** Items with equal times are in the order of their ids, as in `oldestFirst`. */
export const newestFirst: Order = (a, b) => b.at - a.at || byId(a, b);
export const reversed =
  (order: Order): Order =>
  (a, b) =>
    order(b, a);

export interface PageQuery {
  /** The page begins behind this position; at the first item by default. */
  readonly after?: Position | undefined;
  /** Length of a page; all items by default. */
  readonly limit?: number | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Position of the page's last item if more items follow. */
  readonly next: Position | undefined;
}

/** A page of `items` in the order `order`. */
export function pageIn<T>(items: readonly T[], order: Order, positionOf: (item: T) => Position, { after, limit }: PageQuery): Page<T> {
  const rest = items
    .filter((item) => after === undefined || order(positionOf(item), after) > 0)
    .sort((a, b) => order(positionOf(a), positionOf(b)));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return { items: page, next: last !== undefined && rest.length > page.length ? positionOf(last) : undefined };
}
