import { AppError } from "@boxyard/core";
import type { PageQuery, Position } from "../templates/page.ts";

/** The part of a list that a request asks for. Throws `invalid_argument` that names `field` for a token that `tokenOf` has not made. */
export function pageQuery(token: string | undefined, limit: number, field: string): PageQuery {
  if (!token) return { limit };
  const [, at, id] = /^(\d{1,15})__([a-z0-9._-]{1,128})$/.exec(Buffer.from(token, "base64url").toString()) ?? [];
  if (id === undefined) throw new AppError("invalid_argument", `${field}: is not one of this listing`, { reason: "invalid_query" });
  return { limit, after: { at: Number(at), id } };
}

/** The token of the page that begins behind a position. */
export const tokenOf = ({ at, id }: Position): string => Buffer.from(`${at}__${id}`).toString("base64url");
