import { describe, expect, test } from "bun:test";
import { pageQuery, tokenOf } from "./page-token.ts";

const encoded = (text: string) => Buffer.from(text).toString("base64url");
const requested = { limit: 5, field: "cursor" };
const REFUSED = { code: "invalid_argument", reason: "invalid_query", message: "cursor: is not one of this listing" };

describe.each([undefined, "asc", "desc"])("in the order %p", (order) => {
  test.each(["v1.2_x-y", "7d444840-9dc0-11d1-b245-5ffdce74fad2", "v__asc"])(
    "a token gives back the position that it was made of: %s",
    (id) => {
      const position = { at: Date.UTC(2026), id };
      expect(pageQuery(tokenOf(position, order), { ...requested, ...(order && { order }) })).toEqual({ limit: 5, after: position });
    },
  );
});

test.each([undefined, ""])("without a token (%p) the list begins at its first item", (token) => {
  expect(pageQuery(token, requested)).toEqual({ limit: 5 });
});

test.each(["zzz", "%%%", encoded("an-id"), encoded("1__"), encoded("x__id"), encoded("1__ID"), encoded(`1__${"a".repeat(129)}`)])(
  "the token %p is refused",
  (token) => {
    expect(() => pageQuery(token, requested)).toThrow(expect.objectContaining(REFUSED));
  },
);

test.each(["asc", undefined])("a token of the order %p is refused in another order", (order) => {
  const token = tokenOf({ at: 1, id: "a" }, order);
  expect(() => pageQuery(token, { ...requested, order: "desc" })).toThrow(expect.objectContaining(REFUSED));
});
