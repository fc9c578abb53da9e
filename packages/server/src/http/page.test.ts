import { expect, test } from "bun:test";
import { pageQuery, tokenOf } from "./page.ts";

const encoded = (text: string) => Buffer.from(text).toString("base64url");

test.each(["v1.2_x-y", "7d444840-9dc0-11d1-b245-5ffdce74fad2"])("a token gives the position back that it was made of: %s", (id) => {
  const position = { at: Date.UTC(2026), id };
  expect(pageQuery(tokenOf(position), 5, "nextToken")).toEqual({ limit: 5, after: position });
});

test.each([undefined, ""])("without a token (%p) the list begins at its first item", (token) => {
  expect(pageQuery(token, 5, "nextToken")).toEqual({ limit: 5 });
});

test.each(["zzz", "%%%", encoded("an-id"), encoded("1__"), encoded("x__id"), encoded("1__ID"), encoded(`1__${"a".repeat(129)}`)])(
  "the token %p is refused",
  (token) => {
    const refused = { code: "invalid_argument", reason: "invalid_query", message: "cursor: is not one of this listing" };
    expect(() => pageQuery(token, 5, "cursor")).toThrow(expect.objectContaining(refused));
  },
);
