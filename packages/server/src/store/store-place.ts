/** Where a store is: a SQLite file, or the address of a PostgreSQL database. `exclusive`: no other process may open the file meanwhile. */
export type StorePlace = { readonly file: string; readonly exclusive?: boolean } | PostgresPlace;

/** `epoch`: writes are refused once another replica owns the sandboxes (`fence.ts`). */
export interface PostgresPlace {
  readonly url: string;
  readonly epoch?: number;
}

/** The name of a store in messages; of an address, the parts that are not secret. */
export function nameOf(place: StorePlace): string {
  if ("file" in place) return `The store ${place.file}`;
  const { host, pathname } = new URL(place.url);
  return `The database ${host}${pathname} of DATABASE_URL`;
}
