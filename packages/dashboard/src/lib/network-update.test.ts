import { expect, test } from "bun:test";
import { kindOf } from "./network-entries.ts";
import { networkForm, networkUpdate, problemOf, whyNotHere } from "./network-update.ts";

const form = { preset: "none", allowed: " 1.2.3.4 \n\na.example", denied: "9.9.9.0/24" } as const;
const shown = { preset: "none" as const, allowOut: ["1.2.3.4", "a.example"], denyOut: ["9.9.9.0/24"] };

test("an update has what the form shows, and repeats what it does not show", () => {
  const hidden = {
    rules: { "a.example": [{ transform: { headers: { "X-A": "1" } } }] },
    secrets: [{ name: "token", hosts: ["a.example"] }],
    dnsServers: ["9.9.9.9"],
    replay: "kept",
    onMiss: "pass" as const,
  };
  expect(networkUpdate({ network: { allowOut: ["9.9.9.9"], ...hidden } }, form)).toEqual({ ...shown, ...hidden });
  expect(networkUpdate({ network: { record: "kept" } }, form)).toEqual({ ...shown, record: "kept" });
  expect(networkUpdate({}, form)).toEqual(shown);
});

test("the form shows what is in force, whichever way it was set", () => {
  const given = (network: object, allowInternetAccess = true) => networkForm({ network, allowInternetAccess });
  expect(given({})).toEqual({ preset: "all", allowed: "", denied: "" });
  expect(given({}, false).preset).toBe("none");
  expect(given({ allowOut: ["a.example"], denyOut: ["0.0.0.0/0", "9.9.9.9"] })).toEqual({
    preset: "none",
    allowed: "a.example",
    denied: "9.9.9.9",
  });
  expect(given({ preset: "packages", denyOut: ["9.9.9.9"] }, false)).toEqual({ preset: "packages", allowed: "", denied: "9.9.9.9" });
  expect(given({ preset: "all", denyOut: ["0.0.0.0/0"] })).toEqual({ preset: "all", allowed: "", denied: "0.0.0.0/0" });
});

test.each([
  ["203.0.113.7", "address"],
  ["203.0.113.0/24", "network"],
  ["0.0.0.0/0", "network"],
  ["example.com", "domain"],
  ["*.example.com", "domain"],
  ["*", "domain"],
  ["xn--bcher-kva.example", "domain"],
  ["300.1.1.1", undefined],
  ["1.2.3", undefined],
  ["1.2.3.4/33", undefined],
  ["1.2.3.4/", undefined],
  ["1.2.3.4/8/8", undefined],
  ["localhost", undefined],
  ["a..example", undefined],
  ["-a.example", undefined],
  ["::1", undefined],
  ["<img src=x>", undefined],
])("%p is %p", (entry, kind) => {
  expect(kindOf(entry)).toBe(kind as "address");
});

test("a wrong entry is named with its line, and with what to write", () => {
  const problem = (allowed: string, denied = "", preset: "all" | "none" = "none") => problemOf({ preset, allowed, denied });
  expect(problem("\na.example\n*.b.example\n1.2.3.0/24")).toBeUndefined();
  expect(problem("a.example\n\nhttps://b.example/path")).toBe(
    "Allowed, line 3 ('https://b.example/path'): it is a link: leave the protocol and the path away.",
  );
  expect(problem("a.example b.example")).toContain("write one entry in a line");
  expect(problem("a.example:443")).toContain("it has a port");
  expect(problem("fe80::1")).toContain("it is IPv6");
  expect(problem("", "a.example")).toContain("Denied, line 1 ('a.example'): a domain cannot be denied");
  expect(problem("", "1.2.3")).toContain("no IPv4 address");
  expect(problem(Array(257).fill("1.2.3.4").join("\n"))).toContain("256 entries at most");
  expect(problem("a.example", "", "all")).toContain("everything is allowed anyway");
  expect(problem("a.example", "0.0.0.0/0", "all")).toBeUndefined();
});

test("the form is closed where an update would lose the password of a proxy", () => {
  expect(whyNotHere({ network: { egressProxy: { address: "proxy.example:1080" } } })).toContain("proxy.example:1080");
  expect([whyNotHere({ network: {} }), whyNotHere({})]).toEqual([undefined, undefined]);
});
