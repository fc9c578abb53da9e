import { AppError } from "@boxyard/core";
import type { PageQuery, Position } from "../page.ts";

interface RequestedPage {
  readonly limit: number;
  /** Name of the token's parameter, for the error. */
  readonly field: string;
  /** The order of a list that has several; a token is valid only in the order that it was made for. */
  readonly order?: string;
}

/** The part of a list that a request asks for. Throws `invalid_argument` that names `field` for a token that `tokenOf` has not made. */
export function pageQuery(token: string | undefined, { limit, field, order }: RequestedPage): PageQuery {
  if (!token) return { limit };
  const text = Buffer.from(token, "base64url").toString();
  const end = endOf(order);
  const [, at, id] = (text.endsWith(end) && /^(\d{1,15})__([a-z0-9._-]{1,128})$/.exec(text.slice(0, text.length - end.length))) || [];
  if (id === undefined) throw new AppError("invalid_argument", `${field}: is not one of this listing`, { reason: "invalid_query" });
  return { limit, after: { at: Number(at), id } };
}

/** The token of the page that begins behind a position; `order` as in `pageQuery`. */
export const tokenOf = ({ at, id }: Position, order?: string): string => Buffer.from(`${at}__${id}${endOf(order)}`).toString("base64url");

const endOf = (order: string | undefined) => (order === undefined ? "" : `__${order}`);
