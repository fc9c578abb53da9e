import { expect, test } from "bun:test";
import { type ApiCall, eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();
const NOBODY = "i00000000000000000000";
const created: ApiCall = { method: "POST", path: "/sandboxes", body: { templateID: "base" } };

/** Every error is JSON with `code`, equal to the status, and `message`. */
async function expectError(call: ApiCall, status: number, message?: RegExp): Promise<void> {
  const reply = await platform().api(call);
  expect(reply.body).toEqual(expect.objectContaining({ code: status, message: expect.any(String) }));
  expect(reply.status).toBe(status);
  expect(reply.headers.get("content-type")).toContain("application/json");
  if (message) expect((reply.body as { message: string }).message).toMatch(message);
}

test("no API key and a wrong one get 401, also for a sandbox that does not exist", async () => {
  await expectError({ ...created, headers: { "X-API-Key": "" } }, 401);
  await expectError({ ...created, headers: { "X-API-Key": `e2b_${"0".repeat(40)}` } }, 401);
  await expectError({ path: `/sandboxes/${NOBODY}`, headers: { "X-API-Key": "nonsense" } }, 401);
});

test("an unknown template gets 404 and is named, in both versions", async () => {
  await expectError({ ...created, body: { templateID: "no-such-template" } }, 404, /no-such-template/);
  await expectError({ ...created, path: "/v2/sandboxes", body: { templateID: "no-such-template" } }, 404, /no-such-template/);
});

test("a body that is wrong gets 400 with the field named", async () => {
  await expectError({ ...created, body: {} }, 400, /templateID/);
  await expectError({ ...created, body: { templateID: 7 } }, 400, /templateID/);
  await expectError({ ...created, body: { templateID: "base", timeout: "soon" } }, 400, /timeout/);
  await expectError({ ...created, body: { templateID: "base", timeout: 0 } }, 400, /[Tt]imeout/);
  await expectError({ ...created, body: { templateID: "base", metadata: { a: 1 } } }, 400, /metadata/);
  await expectError({ ...created, path: "/v2/sandboxes", body: { templateID: "base", envVars: [] } }, 400, /envVars/);
  await expectError({ ...created, body: "{" }, 400);
  await expectError({ ...created, body: "[]" }, 400);
});

test("an unknown sandbox gets 404 on every operation", async () => {
  await expectError({ path: `/sandboxes/${NOBODY}` }, 404, new RegExp(NOBODY));
  await expectError({ method: "DELETE", path: `/sandboxes/${NOBODY}` }, 404);
  await expectError({ method: "POST", path: `/sandboxes/${NOBODY}/timeout`, body: { timeout: 60 } }, 404);
  await expectError({ method: "POST", path: `/sandboxes/${NOBODY}/connect`, body: { timeout: 60 } }, 404);
  await expectError({ method: "POST", path: `/v2/sandboxes/${NOBODY}/connect` }, 404);
});

test("an id that can't be one gets 400, and a route that is not there 404", async () => {
  // Escaped: fetch resolves the dots of a plain path before it sends the request.
  await expectError({ path: "/sandboxes/..%2F..%2Fetc" }, 400);
  await expectError({ path: "/sandboxes/UPPER!" }, 400);
  await expectError({ path: "/no-such-route" }, 404);
});

test("a sandbox ends by itself when its time is over, and then is unknown", async () => {
  const reply = await platform().api({ ...created, body: { templateID: "base", timeout: 1 } });
  expect(reply.status).toBe(201);
  const { sandboxID } = reply.body as { sandboxID: string };
  await eventually("the sandbox has ended", async () => (await platform().api({ path: `/sandboxes/${sandboxID}` })).status === 404);
  await expectError({ method: "DELETE", path: `/sandboxes/${sandboxID}` }, 404);
});
