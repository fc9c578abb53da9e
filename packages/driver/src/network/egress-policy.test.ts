import { expect, test } from "bun:test";
import { parseRange } from "./address-ranges.ts";
import { deniesAll, hostRules, isEnforceable, isIPv6Network, MAX_EGRESS_ENTRIES, permittedRanges } from "./egress-policy.ts";

const address = (text: string) => parseRange(text)?.first ?? -1;
const range = (first: string, last: string) => ({ first: address(first), last: address(last) });
const ALL = [range("0.0.0.0", "255.255.255.255")];

test("an entry is an address or a network; bits below the prefix do not count", () => {
  expect(parseRange("1.2.3.4")).toEqual(range("1.2.3.4", "1.2.3.4"));
  expect(parseRange("1.2.3.4/32")).toEqual(range("1.2.3.4", "1.2.3.4"));
  expect(parseRange("1.2.3.4/8")).toEqual(range("1.0.0.0", "1.255.255.255"));
  expect(parseRange("255.1.2.3/0")).toEqual(ALL[0]);
  const rubbish = [
    "",
    "/",
    "1.2.3",
    "1.2.3.4/33",
    "1.2.3.4/-1",
    "1.2.3.4/08",
    "1.2.3.4/",
    "1.2.3.4/8/8",
    "01.2.3.4",
    "1.2.3.4 ",
    "::1",
    "a.example",
  ];
  expect(rubbish.map(parseRange)).toEqual(rubbish.map(() => undefined));
});

test("an IPv6 network is one that no IPv4 packet goes to", () => {
  expect(["::/0", "::1", "fc00::/7", "2001:db8::1/128", "::ffff:0:0/90"].map(isIPv6Network)).toEqual([true, true, true, true, true]);
  const others = [
    "::ffff:1.2.3.4",
    "::ffff:0:0/96",
    "0:0:0:0:0:FFFF:102:304",
    "fe80::1%eth0",
    "::/129",
    "::/",
    "::1/1/1",
    "1.2.3.4",
    "g::",
  ];
  expect(others.map(isIPv6Network)).toEqual(others.map(() => false));
});

test("allowed entries override denied ones; other addresses are open with internetAccess", () => {
  const all = { internetAccess: true };
  expect(permittedRanges(all)).toEqual(ALL);
  expect(permittedRanges({ internetAccess: false })).toEqual([]);
  expect(permittedRanges({ ...all, allowOut: ["1.2.3.4"] })).toEqual(ALL);
  expect(permittedRanges({ internetAccess: false, allowOut: ["1.2.3.4", "1.2.3.5", "9.0.0.0/8"] })).toEqual([
    range("1.2.3.4", "1.2.3.5"),
    range("9.0.0.0", "9.255.255.255"),
  ]);
  expect(permittedRanges({ ...all, denyOut: ["0.0.0.0/0"], allowOut: ["1.2.3.4"] })).toEqual([range("1.2.3.4", "1.2.3.4")]);
  expect(permittedRanges({ ...all, denyOut: ["0.0.0.0/8", "9.9.9.0/24", "9.9.9.9", "255.0.0.0/8"], allowOut: ["9.9.9.9"] })).toEqual([
    range("1.0.0.0", "9.9.8.255"),
    range("9.9.9.9", "9.9.9.9"),
    range("9.9.10.0", "254.255.255.255"),
  ]);
  // Sandboxes have no IPv6.
  expect(permittedRanges({ ...all, denyOut: ["::/0"] })).toEqual(ALL);
});

test("all of IPv4 can be denied in parts", () => {
  expect([["0.0.0.0/0"], ["128.0.0.0/1", "0.0.0.0/1"], ["0.0.0.0/1"], ["::/0"], []].map(deniesAll)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test("isEnforceable refuses too many entries and entries that are no networks", () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `9.9.${i >> 8}.${i & 255}`);
  expect(isEnforceable({ internetAccess: true, allowOut: many(MAX_EGRESS_ENTRIES), denyOut: ["::/0", ...many(5)] })).toBe(true);
  for (const lists of [
    { allowOut: many(MAX_EGRESS_ENTRIES + 1) },
    { denyOut: many(MAX_EGRESS_ENTRIES + 1) },
    { allowOut: ["a.example"] },
    { allowOut: ["::1"] },
    { denyOut: ["1.2.3.4/33"] },
  ])
    expect([lists, isEnforceable({ internetAccess: true, ...lists })]).toEqual([lists, false]);
});

test("names are enforceable where all else is denied, and permit no address by themselves", () => {
  const named = { internetAccess: false, allowOut: ["1.2.3.4", "*.A.example", "a.example.", "a.example"] };
  expect([isEnforceable(named), hostRules(named)]).toEqual([true, ["*.a.example", "a.example"]]);
  expect(permittedRanges(named)).toEqual([range("1.2.3.4", "1.2.3.4")]);
  expect(isEnforceable({ internetAccess: false, allowOut: ["a/b"] })).toBe(false);
});

test("name servers are permitted beside names only, ten at most", () => {
  const dnsServers = ["9.9.9.9"];
  expect(permittedRanges({ internetAccess: false, allowOut: ["a.example"], dnsServers })).toEqual([range("9.9.9.9", "9.9.9.9")]);
  expect(permittedRanges({ internetAccess: false, allowOut: ["1.2.3.4"], dnsServers })).toEqual([range("1.2.3.4", "1.2.3.4")]);
  expect(isEnforceable({ internetAccess: false, dnsServers: Array(11).fill("9.9.9.9") })).toBe(false);
  expect(isEnforceable({ internetAccess: false, dnsServers: ["9.9.9.0/24"] })).toBe(false);
});
