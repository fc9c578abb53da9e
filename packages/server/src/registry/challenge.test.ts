import { expect, test } from "bun:test";
import { parseChallenge } from "./challenge.ts";

const bearer = (parameters: Record<string, string>) => ({ scheme: "bearer", parameters });

test.each<[string, ReturnType<typeof parseChallenge>]>([
  [
    'Bearer realm="https://t.test/x",service="a b",scope="repository:x:pull,push"',
    { ...bearer({ realm: "https://t.test/x", service: "a b", scope: "repository:x:pull,push" }) },
  ],
  ["bearer  Realm=plain , SERVICE = other", bearer({ realm: "plain", service: "other" })],
  ["Basic", { scheme: "basic", parameters: {} }],
  ['Negotiate, Digest realm="d", Bearer realm="b"', bearer({ realm: "b" })],
  ['Bearer realm="first", realm="second"', bearer({ realm: "first" })],
  ['Bearer realm="a \\"quoted\\" \\\\ word"', bearer({ realm: 'a "quoted" \\ word' })],
  ['Bearer realm="never ends', bearer({ realm: "never ends" })],
  ['Bearer realm="ends with \\', bearer({ realm: "ends with " })],
  ["Bearer __proto__=x", bearer(JSON.parse('{"__proto__":"x"}') as Record<string, string>)],
  ["Bearerx realm=1", undefined],
  ["realm=1", undefined],
  [' ,;="=', undefined],
  ["", undefined],
])("%s", (header, expected) => {
  const challenge = parseChallenge(header);
  expect(challenge && { ...challenge, parameters: { ...challenge.parameters } }).toEqual(expected);
});

test("a hostile header is parsed in linear time, or not at all when it is too long", () => {
  // A regular expression took 16 s for these.
  for (const text of ["a".repeat(120_000), `Bearer ${"a".repeat(120_000)}`, `Bearer ${"a=".repeat(60_000)}`])
    expect(parseChallenge(text)).toBeUndefined();
  expect(parseChallenge(`Bearer ${"a".repeat(16_000)}=1`)?.parameters).toHaveProperty("a".repeat(16_000), "1");
});
