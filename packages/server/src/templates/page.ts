import { cutPage } from "../sandboxes/cut-page.ts";

/** A place in a list that is ordered by a time and, where times are equal, by an id. It stays valid when the item that had it is removed. */
export interface Position {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly id: string;
}

export type Order = (a: Position, b: Position) => number;

export const byId: Order = (a, b) => (a.id === b.id ? 0 : a.id < b.id ? -1 : 1);
export const oldestFirst: Order = (a, b) => a.at - b.at || byId(a, b);
export const newestFirst: Order = (a, b) => b.at - a.at || byId(a, b);

export interface PageQuery {
  /** The page begins behind this position; at the first item by default. */
  readonly after?: Position | undefined;
  readonly limit: number;
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
  const { page, next } = cutPage(rest, limit, positionOf);
  return { items: page, next };
}
