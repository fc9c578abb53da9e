import { expect, test } from "bun:test";
import { canonicalHost, hostMatcher, parseHostRule } from "./host-names.ts";

test("a host's name is compared in lower case, in ASCII and without its final dot", () => {
  const forms = ["Example.COM", "example.com.", "bücher.example", "_acme.example.com", "a", "xn--bcher-kva.example"];
  expect(forms.map(canonicalHost)).toEqual([
    "example.com",
    "example.com",
    "xn--bcher-kva.example",
    "_acme.example.com",
    "a",
    "xn--bcher-kva.example",
  ]);
});

test("addresses in every notation, and text that is no name, are not names", () => {
  const addresses = ["1.2.3.4", "127.1", "0x7f.1", "2130706433", "017700000001", "[::1]", "::1", "１.2.3.4"];
  const other = [
    "",
    ".",
    "..",
    "a..b",
    "a b",
    "a/b",
    "a:80",
    "u@a",
    "a?b",
    "a#b",
    "a%2eb",
    "-a.b",
    "a-.b",
    "*.a",
    "a.*",
    `${"a".repeat(64)}.b`,
  ];
  expect([...addresses, ...other, `${"a.".repeat(126)}ab`].filter((text) => canonicalHost(text) !== undefined)).toEqual([]);
});

test("a rule is a name, a wildcard in front of a name, or the star alone", () => {
  expect(["*", "*.Example.com.", "example.com", "*.com"].map(parseHostRule)).toEqual(["*", "*.example.com", "example.com", "*.com"]);
  expect(["**", "*.", "*a.com", "a.*.com", "*.1.2.3.4", "*.*.com"].filter((text) => parseHostRule(text) !== undefined)).toEqual([]);
});

test("a wildcard fits names at any depth below it and not the name itself", () => {
  const fits = hostMatcher(["*.example.com", "other.org"]);
  const names = ["a.example.com", "a.b.example.com", "other.org", "example.com", "badexample.com", "x.other.org", "com", "org"];
  expect(names.filter(fits)).toEqual(["a.example.com", "a.b.example.com", "other.org"]);
  expect(hostMatcher(["*"])("any.thing")).toBe(true);
  expect(hostMatcher([])("any.thing")).toBe(false);
});
