import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { rawRequest } from "../support/raw-http.ts";
import { createSandbox, reconnect } from "../support/sandbox.ts";
import { boxyard } from "./support.ts";

const platform = usePlatform();

/** Names below localhost are not resolved by every client, so the request goes to the server's address. */
function follow(url: string) {
  const { host, pathname, search } = new URL(url);
  return rawRequest(platform().apiUrl, { method: "GET", path: pathname + search, headers: { Host: host } });
}

test("a link to a private port opens it over a pause, and not once it has expired or is withdrawn", async () => {
  await using sandbox = await createSandbox(platform(), { network: { allowPublicTraffic: false } });
  await sandbox.client.commands.run("exec python3 -m http.server 8000 --directory /etc", { background: true, timeoutMs: 0 });
  const { stdout, exitCode } = await boxyard(platform(), ["sandbox", "port-url", sandbox.id, "8000", "--expires", "1h"]);
  expect(exitCode).toBe(0);
  const link = stdout.trim();
  await eventually("it answers", async () => (await follow(link)).status === 200);
  expect((await follow(link.replace(/\?.*/, ""))).status).toBe(403);
  await sandbox.client.pause();
  expect((await follow(link)).status).toBe(502);
  await reconnect(platform(), sandbox.id);
  await eventually("it answers again", async () => (await follow(link)).status === 200);
  const brief = await boxyard(platform(), ["sandbox", "port-url", sandbox.id, "8000", "--expires", "2s"]);
  const over = await eventually("it is over", async () => {
    const { status, body } = await follow(brief.stdout.trim());
    return status !== 200 && { status, text: body.toString() };
  });
  expect(over).toEqual({ status: 403, text: expect.stringContaining("is over, was withdrawn") });
  const revoked = await boxyard(platform(), ["sandbox", "port-url", sandbox.id, "8000", "--revoke"]);
  expect([revoked.exitCode, revoked.stdout]).toEqual([0, ""]);
  const refused = await follow(link);
  expect([refused.status, refused.body.toString()]).toEqual([403, expect.stringContaining("withdrawn")]);
}, 60_000);
