import { expect, test } from "bun:test";
import { contains, formatAddress, formatNetwork, overlaps, parseAddress, parseNetwork } from "./addresses.ts";
import { candidateRanges } from "./machine.ts";
import { addressOfLink, leaseIndex, leaseLink, makePlan } from "./plan.ts";

test("addresses are parsed and formatted", () => {
  for (const text of ["0.0.0.0", "10.208.0.1", "127.0.0.1", "255.255.255.255"]) {
    expect(formatAddress(parseAddress(text) ?? -1)).toBe(text);
  }
  for (const text of ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4/8", "::1", " 1.2.3.4", "1.2.3.x", "01234.1.1.1"]) {
    expect(parseAddress(text)).toBeUndefined();
  }
});

test("networks are parsed; bits below the prefix are refused", () => {
  expect(formatNetwork(parseNetwork("10.208.0.0/16"))).toBe("10.208.0.0/16");
  for (const text of ["10.208.0.1/16", "10.208.0.0", "10.208.0.0/33", "x/8", "10.0.0.0/"]) {
    expect(() => parseNetwork(text)).toThrow(expect.objectContaining({ reason: "invalid_network" }));
  }
});

test("containing and overlapping agree with counting addresses", () => {
  const networks = ["0.0.0.0/0", "10.0.0.0/8", "10.208.0.0/16", "10.208.128.0/17", "10.209.0.0/16", "192.168.1.4/30", "192.168.1.5/32"];
  for (const a of networks.map(parseNetwork)) {
    for (const b of networks.map(parseNetwork)) {
      const end = (n: typeof a) => n.base + 2 ** (32 - n.prefix);
      expect(overlaps(a, b)).toBe(a.base < end(b) && b.base < end(a));
      expect(contains(a, b.base)).toBe(b.base >= a.base && b.base < end(a));
    }
  }
});

test("a plan names its instance everywhere, and leases none of its own addresses", () => {
  const plan = makePlan({ instance: "0a1b2c3d", network: "10.208.0.0/16", runDirectory: "/run/boxyard" });
  expect(plan).toMatchObject({ hostLink: "by0a1b2c3d", table: "boxyard_0a1b2c3d", namespaceFile: "/run/boxyard/boxyard-0a1b2c3d" });
  expect([plan.gateway, plan.hostAddress, plan.firstLease, plan.lastLease].map(formatAddress)).toEqual([
    "10.208.0.1",
    "10.208.0.2",
    "10.208.0.16",
    "10.208.255.254",
  ]);
  for (const instance of ["", "0A1B2C3D", "0a1b2c3", "../../xx"]) {
    expect(() => makePlan({ instance, network: "10.208.0.0/16", runDirectory: "/run" })).toThrow();
  }
  for (const network of ["10.0.0.0/8", "10.208.0.0/25"])
    expect(() => makePlan({ instance: "0a1b2c3d", network, runDirectory: "/run" })).toThrow();
});

test("a link's name contains its address, and its index is the address's offset", () => {
  const plan = makePlan({ instance: "0a1b2c3d", network: "172.16.0.0/12", runDirectory: "/run" });
  expect(leaseLink(plan.lastLease).length).toBeLessThan(16);
  expect(addressOfLink(leaseLink(plan.lastLease))).toBe(plan.lastLease);
  expect(addressOfLink("host0")).toBeUndefined();
  expect(leaseIndex(plan, plan.firstLease)).toBe(1016);
});

test("the search for a range begins where the instance says and tries each once", () => {
  const all = candidateRanges(0);
  expect([all[0], all[15], all[16]]).toEqual(["10.208.0.0/16", "10.223.0.0/16", "172.31.0.0/16"]);
  for (const start of [0, 7, 15, 0xffff_ffff]) {
    const ranges = candidateRanges(start);
    expect(ranges[0]).toBe(`10.${208 + (start % 16)}.0.0/16`);
    expect(new Set(ranges)).toEqual(new Set(all));
    expect(ranges).toHaveLength(all.length);
  }
});
