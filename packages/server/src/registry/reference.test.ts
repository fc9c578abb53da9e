import { expect, test } from "bun:test";
import { isLoopback } from "../registry-hosts.ts";
import { formatReference, parseImageReference } from "./reference.ts";
import { Transport } from "./transport.ts";

const digest = `sha256:${"a".repeat(64)}`;

test.each([
  ["localhost:5000/team/app", { registry: "localhost:5000", repository: "team/app", tag: "latest" }],
  ["127.0.0.1:5000/app:v1", { registry: "127.0.0.1:5000", repository: "app", tag: "v1" }],
  ["registry.test/a/b-c/d.e_f:1.2-x", { registry: "registry.test", repository: "a/b-c/d.e_f", tag: "1.2-x" }],
  ["box:80/app", { registry: "box:80", repository: "app", tag: "latest" }],
  ["[::1]:5000/app", { registry: "[::1]:5000", repository: "app", tag: "latest" }],
  [`registry.test/app@${digest}`, { registry: "registry.test", repository: "app", digest }],
  [`registry.test/app:v1@${digest}`, { registry: "registry.test", repository: "app", tag: "v1", digest }],
])("%p is understood", (text, reference) => {
  const parsed = parseImageReference(text);
  expect(parsed).toEqual(reference);
  expect(parseImageReference(formatReference(parsed))).toEqual(reference);
});

test.each([
  ["python:3.12", { registry: "hub.test", repository: "library/python", tag: "3.12" }],
  ["team/app", { registry: "hub.test", repository: "team/app", tag: "latest" }],
  ["docker.io/library/python:3.12", { registry: "hub.test", repository: "library/python", tag: "3.12" }],
  ["index.docker.io/team/app", { registry: "hub.test", repository: "team/app", tag: "latest" }],
  ["other.test/app", { registry: "other.test", repository: "app", tag: "latest" }],
])("%p gets the registry that is set", (text, reference) => {
  expect(parseImageReference(text, { registry: "hub.test/library" })).toEqual(reference);
});

test.each([
  ["python:3.12-slim", "library/python", "3.12-slim"],
  ["team/app", "team/app", "latest"],
  ["docker.io/library/redis", "library/redis", "latest"],
])("%p is Docker Hub's", (text, repository, tag) => {
  const parsed = parseImageReference(text);
  expect(parsed).toEqual({ registry: "docker.io", repository, tag });
  expect(parseImageReference(formatReference(parsed))).toEqual(parsed);
  expect(new Transport().baseUrl(parsed.registry).href).toBe("https://registry-1.docker.io/");
});

test.each([
  ["python", "hub/library/python"],
  ["team/app", "hub/team/app"],
  ["docker.io/library/python", "hub/library/python"],
])("%p is found in a mirror below a path", (text, repository) => {
  expect(parseImageReference(text, { registry: "mirror.test:8443/hub/library" })).toMatchObject({
    registry: "mirror.test:8443",
    repository,
  });
});

test.each([
  "",
  "a.b/App",
  "a.b/",
  "a.b/c:",
  "a.b/c:-x",
  "a.b/c@sha256:1",
  "a.b/../c",
  "a.b//c",
  "a.b/c d",
  "a..b/c",
  `a.b/${"c".repeat(600)}`,
])("%p is refused", (text) => {
  expect(() => parseImageReference(text)).toThrow("Invalid image reference");
});

test("plain HTTP is for this machine alone", () => {
  expect(["localhost", "localhost:5000", "127.0.0.1:1", "[::1]:5000"].map(isLoopback)).toEqual([true, true, true, true]);
  expect(["localhost.test", "127.0.0.1.test", "10.0.0.1:5000", "registry.test"].map(isLoopback)).toEqual([false, false, false, false]);
});
