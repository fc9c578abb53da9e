import { expect, test } from "bun:test";
import { isEnforceable, withoutEdge } from "./egress-policy.ts";
import { isBlockedAddress, isUsableProxy, parseProxyAddress, type UpstreamProxy } from "./upstream-proxy.ts";

test("addresses of proxies", () => {
  const socks = (host: string, port = 1080) => ({ protocol: "socks5" as const, host, port });
  expect(parseProxyAddress("Proxy.Example:1080")).toEqual(socks("proxy.example"));
  expect(parseProxyAddress("socks5://192.0.2.7:1")).toEqual(socks("192.0.2.7", 1));
  expect(parseProxyAddress("SOCKS5H://a.example:65535")).toEqual(socks("a.example", 65535));
  expect(parseProxyAddress("http://a.example:3128")).toEqual({ protocol: "http", host: "a.example", port: 3128 });
  for (const text of [
    ...["", "a.example", "a.example:", ":1080", "a.example:0", "a.example:65536", "a.example:01", "a.example:1x", "[::1]:1080"],
    ...["https://a.example:1", "http://a.example:1/", "http://u:p@a.example:1", "ftp://a.example:1", "a b:1", "1.2.3.0/24:1", "1.2.3:1"],
  ])
    expect([text, parseProxyAddress(text)]).toEqual([text, undefined]);
});

test("no proxy is at an address that is closed to sandboxes, and credentials are what each protocol can carry", () => {
  expect(["127.0.0.1", "10.0.0.1", "169.254.169.254", "nonsense"].map(isBlockedAddress)).toEqual([true, true, true, true]);
  expect(isBlockedAddress("192.0.2.7")).toBe(false);
  const proxy: UpstreamProxy = { protocol: "http", host: "a.example", port: 1, username: "u", password: ":p" };
  expect(isUsableProxy(proxy)).toBe(true);
  for (const wrong of [
    { host: "10.0.0.1" },
    { host: "A.example" },
    { port: 0 },
    { port: 65_536 },
    { username: "a:b" },
    { password: "a\nb" },
    { password: "ä".repeat(128) },
  ])
    expect([wrong, isUsableProxy({ ...proxy, ...wrong })]).toEqual([wrong, false]);
});

test("a policy is not enforceable while it says that there is a proxy and has none, but for one without its secrets", () => {
  const proxy: UpstreamProxy = { protocol: "socks5", host: "a.example", port: 1 };
  const policy = { internetAccess: true, isProxied: true, edge: { hosts: [], proxy } };
  expect(isEnforceable(policy)).toBe(true);
  expect(isEnforceable({ internetAccess: true, isProxied: true })).toBe(false);
  expect(isEnforceable({ internetAccess: true, edge: { hosts: [], proxy } })).toBe(false);
  expect(JSON.stringify(withoutEdge(policy))).not.toContain("a.example");
  expect([withoutEdge(policy).isProxied, isEnforceable(withoutEdge(policy))]).toEqual([true, true]);
});
