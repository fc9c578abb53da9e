export type Row = Record<string, unknown>;

/** PostgreSQL gives BIGINT as text. */
export const num = (value: unknown) => Number(value);
export const text = (value: unknown) => String(value);
export const optionalNum = (value: unknown) => (value === null || value === undefined ? undefined : Number(value));
