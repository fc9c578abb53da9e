/**
 * A part of an answer that should fit the schema `T`, before its values are checked: the members by name, with values of any type. A name
 * that the schema does not have is a compile error.
 */
export type Unchecked<T> = { readonly [Name in keyof T]?: unknown };

/** An object's members; none of anything else. */
export const unchecked = <T>(value: unknown): Unchecked<T> => (typeof value === "object" && value !== null ? (value as Unchecked<T>) : {});

/** The value if it is a string. */
export const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** The strings of a list; none of anything else. */
export const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);
