import { expect, test } from "bun:test";
import { networkUpdate, whyNotHere } from "./network-update.ts";

const form = { isOnline: false, allowed: " 1.2.3.4 \n\na.example", denied: "0.0.0.0/0" };
const shown = { allow_internet_access: false, allowOut: ["1.2.3.4", "a.example"], denyOut: ["0.0.0.0/0"] };

test("an update has what the form shows, and repeats what it does not show", () => {
  const hidden = {
    rules: { "a.example": [{ transform: { headers: { "X-A": "1" } } }] },
    secrets: [{ name: "token", hosts: ["a.example"] }],
    dnsServers: ["9.9.9.9"],
  };
  expect(networkUpdate({ network: { allowOut: ["9.9.9.9"], ...hidden } }, form)).toEqual({ ...shown, ...hidden });
  expect(networkUpdate({}, form)).toEqual(shown);
});

test("the form is closed where an update would lose the password of a proxy", () => {
  expect(whyNotHere({ network: { egressProxy: { address: "proxy.example:1080" } } })).toContain("proxy.example:1080");
  expect([whyNotHere({ network: {} }), whyNotHere({})]).toEqual([undefined, undefined]);
});
