import { expect, test } from "bun:test";
import type { AgentContext, HttpRoute } from "./contracts.ts";
import { serve } from "./server.ts";

/** Sends a request with this target and Host header; returns the status, and the query that the route got. */
async function ask(target: string, host: string): Promise<string> {
  const route: HttpRoute = { method: "GET", path: "/here", access: "own", handle: async ({ query }) => new Response(`q=${query}`) };
  const ctx = { state: { isInitialised: true }, log() {} } as unknown as AgentContext;
  const server = serve(ctx, { http: [route], rpc: [] }, { hostname: "127.0.0.1", port: 0 });
  try {
    return await new Promise<string>((resolve) => {
      let answer = "";
      void Bun.connect({
        hostname: "127.0.0.1",
        port: server.port ?? 0,
        socket: {
          open: (socket) => void socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
          data: (_socket, bytes) => {
            answer += bytes.toString();
          },
          close: () => resolve(`${answer.split(" ")[1]} ${answer.split("\r\n\r\n")[1]}`),
        },
      });
    });
  } finally {
    await server.stop(true);
  }
}

test("a path is found whatever the Host header says", async () => {
  for (const host of ["agent", "", "a/b", "x/other?", "x?y", "x#y"]) expect(await ask("/here?a=1", host)).toBe("200 q=a=1");
  for (const target of ["/x/../here", "/%68ere", "http://other/here"]) expect(await ask(target, "agent")).toBe("200 q=");
  expect(await ask("//here", "agent")).toStartWith("404 ");
});

test("before the first /init only /health and /init are answered, also with percent escapes", async () => {
  const route = (method: "GET" | "POST", path: string, access: HttpRoute["access"]): HttpRoute => ({
    ...{ method, path, access },
    handle: () => new Response(null, { status: 204 }),
  });
  const state = { isInitialised: false };
  const http = [
    ...[route("GET", "/health", "open"), route("POST", "/init", "own"), route("GET", "/files", "own"), route("POST", "/files", "own")],
    ...[route("GET", "/metrics", "token"), route("POST", "/freeze", "token")],
  ];
  const ctx = { state, log() {} } as unknown as AgentContext;
  const server = serve(ctx, { http, rpc: [["/process.Process/Start", {} as never]] }, { hostname: "127.0.0.1", port: 0 });
  const status = async (method: string, path: string) => (await fetch(`http://127.0.0.1:${server.port}${path}`, { method })).status;
  try {
    for (const path of ["/files", "/metrics", "/init", "/none"]) expect([path, await status("GET", path)]).toEqual([path, 401]);
    for (const path of ["/files", "/freeze", "/health", "/process.Process/Start"])
      expect([path, await status("POST", path)]).toEqual([path, 401]);
    expect([await status("GET", "/health"), await status("POST", "/init"), await status("POST", "/%69nit")]).toEqual([204, 204, 204]);
    state.isInitialised = true;
    expect(await status("GET", "/files")).toBe(204);
  } finally {
    await server.stop(true);
  }
});
