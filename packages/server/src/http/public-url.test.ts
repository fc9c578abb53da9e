import { expect, test } from "bun:test";
import { TestServer } from "../testing/test-server.ts";
import { publicUrl } from "./public-url.ts";

const of = (headers: Record<string, string>, url?: string) => publicUrl({ publicUrl: url }, (name) => headers[name]);

test.each([
  [{ host: "a:3000" }, "http://a:3000"],
  [{ host: "a", "x-forwarded-proto": "https" }, "https://a"],
  [{ host: "a", "x-forwarded-proto": "HTTPS, http" }, "https://a"],
  [{ host: "a", "x-forwarded-proto": "http, https" }, "http://a"],
  [{ host: "a", "x-forwarded-proto": "javascript" }, "http://a"],
  [{ host: "[::1]:3000" }, "http://[::1]:3000"],
])("%p is %s", (headers, url) => {
  expect(of(headers)).toBe(url);
  expect(of(headers, "https://set.example:8443")).toBe("https://set.example:8443");
});

test("a Host that is not a host name is refused", () => {
  expect(() => of({ host: "a/b" })).toThrow("Host: is not a host name");
  expect(() => of({})).toThrow("Host: is not a host name");
});

test("upload links begin with the address that is set, or with what a TLS front says", async () => {
  for (const [env, wanted] of [
    [{}, /^https:\/\/127\.0\.0\.1:\d+\/./],
    [{ BOXYARD_PUBLIC_URL: "https://boxyard.example/" }, /^https:\/\/boxyard\.example\/[^/]/],
  ] as const) {
    await using s = await TestServer.start({ env });
    const made = await s.call("POST", "/v3/templates", { name: "linked", cpuCount: 1, memoryMB: 512 });
    const path = `/templates/${made.body.templateID}/files/${"a".repeat(64)}`;
    const { body } = await s.call("GET", path, undefined, { "X-Forwarded-Proto": "https" });
    expect(body.url).toMatch(wanted);
  }
});
