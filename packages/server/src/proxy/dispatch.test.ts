import { describe, expect, test } from "bun:test";
import { parseRequestHead } from "@boxyard/http1";
import { CLIENT_FIELDS, dispatch, isInternalAgentPath } from "./dispatch.ts";

const ID = "i0123456789abcdefghij";
const to = (line: string, ...fields: string[]) =>
  dispatch(
    parseRequestHead(
      [`${line} HTTP/1.1`, ...(fields.some((f) => f.startsWith("Host:")) ? [] : ["Host: localhost:3000"]), ...fields].join("\r\n"),
      CLIENT_FIELDS,
    ),
  );

describe("dispatch on the one port", () => {
  test("finds a preflight before anything else", () => {
    expect(to("OPTIONS /x", "Access-Control-Request-Method: POST", `Svc-Sandbox-Id: ${ID}`)).toEqual({ kind: "preflight" });
    expect(to("OPTIONS /x")).toEqual({ kind: "api" });
  });

  test.each([
    ["Svc", "Svc"],
    ["E2b", "E2b"],
    ["Svc", "E2b"],
    ["e2b", "SVC"],
  ])("routes by headers %s and %s", (a, b) => {
    expect(to("GET /x", `${a}-Sandbox-Id: ${ID}`, `${b}-Sandbox-Port: 8080`)).toEqual({ kind: "sandbox", sandboxId: ID, port: 8080 });
  });

  test("drops the suffix of old clients", () => {
    expect(to("GET /", `E2b-Sandbox-Id: ${ID}-client`, "E2b-Sandbox-Port: 1")).toEqual({ kind: "sandbox", sandboxId: ID, port: 1 });
  });

  test.each([
    [[`Svc-Sandbox-Id: ${ID}`], "missing header"],
    [["E2b-Sandbox-Port: 1"], "missing header"],
    [[`Svc-Sandbox-Id: ${ID}`, "Svc-Sandbox-Port: abc"], "Invalid sandbox port"],
    [[`Svc-Sandbox-Id: ${ID}`, "Svc-Sandbox-Port: 0"], "Invalid sandbox port"],
    [[`Svc-Sandbox-Id: ${ID}`, "Svc-Sandbox-Port: 65536"], "Invalid sandbox port"],
    [["Svc-Sandbox-Id: ../../x", "Svc-Sandbox-Port: 1"], "Invalid sandbox ID"],
    [[`Svc-Sandbox-Id: ${ID}`, "E2b-Sandbox-Id: other", "Svc-Sandbox-Port: 1"], "conflicting routing headers"],
  ])("refuses %p", (fields, text) => {
    expect(to("GET /", ...fields)).toEqual({ kind: "bad", text });
  });

  test.each([
    [`49983-${ID}.localhost:3000`, { kind: "sandbox", sandboxId: ID, port: 49983, isByHost: true }],
    [`8080-${ID.toUpperCase()}.Example.com`, { kind: "sandbox", sandboxId: ID, port: 8080, isByHost: true }],
    [`8080-${ID}-old.example.com`, { kind: "sandbox", sandboxId: ID, port: 8080, isByHost: true }],
    ["8080-unknown.example.com", { kind: "sandbox", sandboxId: "unknown", port: 8080, isByHost: true }],
    [`abc-${ID}.example.com`, { kind: "bad", text: "Invalid sandbox port" }],
    [`99999-${ID}.example.com`, { kind: "bad", text: "Invalid sandbox port" }],
    ["my-host.example.com", { kind: "api" }],
    ["127-0-0-1.example.com", { kind: "api" }],
    ["127.0.0.1:3000", { kind: "api" }],
    ["[::1]:3000", { kind: "api" }],
    ["sandbox.example.com", { kind: "api" }],
    [`8080-${ID}`, { kind: "api" }],
  ])("by host name %s", (host, target) => {
    expect(to("GET /", `Host: ${host}`)).toEqual(target as ReturnType<typeof to>);
  });

  test.each([
    [`/ports/${ID}/8080/`, { kind: "sandbox", sandboxId: ID, port: 8080, innerTarget: "/" }],
    [`/ports/${ID}/8080/a/../b%2Fc?x=/y`, { kind: "sandbox", sandboxId: ID, port: 8080, innerTarget: "/a/../b%2Fc?x=/y" }],
    [`/ports/${ID}/8080//other.test/`, { kind: "sandbox", sandboxId: ID, port: 8080, innerTarget: "//other.test/" }],
    [`/ports/${ID}-old/1/`, { kind: "sandbox", sandboxId: ID, port: 1, innerTarget: "/" }],
    [`/ports/${ID}/8080`, { kind: "redirect", location: `/ports/${ID}/8080/` }],
    [`/ports/${ID}-"x/08080?q=1`, { kind: "redirect", location: `/ports/${ID}/8080/?q=1` }],
    [`/ports/${ID}/0/`, { kind: "bad", text: "Invalid sandbox port" }],
    [`/ports/${ID}/%38080/`, { kind: "bad", text: "Invalid sandbox port" }],
    [`/ports/../8080/`, { kind: "bad", text: "Invalid sandbox ID" }],
    [`/ports/${ID}`, { kind: "api" }],
    [`/x/ports/${ID}/8080/`, { kind: "api" }],
    [`/PORTS/${ID}/8080/`, { kind: "api" }],
  ])("by path %s", (target, to_) => {
    expect(to(`GET ${target}`)).toEqual(to_ as ReturnType<typeof to>);
  });

  test("headers and host name win over the path", () => {
    const other = "i9876543210abcdefghij";
    expect(to(`GET /ports/${other}/1/`, `Svc-Sandbox-Id: ${ID}`, "Svc-Sandbox-Port: 2")).toEqual({
      kind: "sandbox",
      sandboxId: ID,
      port: 2,
    });
    expect(to(`GET /ports/${other}/1/`, `Host: 2-${ID}.localhost`)).toEqual({ kind: "sandbox", sandboxId: ID, port: 2, isByHost: true });
  });

  test("knows signed file URLs", () => {
    expect(to("GET /files?path=a&signature=v1_x")).toEqual({ kind: "signed-file" });
    expect(to("GET /files?path=signature")).toEqual({ kind: "api" });
    expect(to("GET /filesx?signature=v1_x")).toEqual({ kind: "api" });
  });
});

describe("internal paths of the agent", () => {
  test.each([
    "/init",
    "/init?x=1",
    "//init",
    "/./init",
    "/a/../init",
    "/init/",
    "/%69nit",
    "/%2569nit",
    "/%2e/init",
    "/a/%2e%2e/init",
    "/%2finit",
    "/\\init",
    "/INIT",
    "/init;x",
    "/init%3fx",
    "/init%23",
    "/init%00",
    "/upgrade",
    "/fsfreeze",
    "/fsthaw",
    "/collapse",
  ])("%s is unreachable", (path) => {
    expect(isInternalAgentPath(49983, path)).toBe(true);
    expect(isInternalAgentPath(8080, path)).toBe(false);
  });

  test.each(["/freeze", "/unfreeze", "/files?path=/init", "/health", "/initial", "/x/init"])("%s is reachable", (path) => {
    expect(isInternalAgentPath(49983, path)).toBe(false);
  });
});
