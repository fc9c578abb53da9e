import { expect, test } from "bun:test";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, reconnect } from "../support/sandbox.ts";

const platform = usePlatform();

test("a sandbox's log tells its life and its commands, after its end too", async () => {
  const target = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  await using sandbox = await createSandbox(platform());
  const { client } = sandbox;
  await client.commands.run("echo hidden-output", { envs: { HIDDEN: "hidden-value" } });
  await client.commands.run("exit 3").catch(() => {});
  const told = async () => (await Sandboxes.getLogs(sandbox.id, target)).map(({ message, fields }) => [fields.logger, message]);
  const commands = [
    ["guest", "Command started: echo hidden-output"],
    ["guest", "Command ended: exit status 0: echo hidden-output"],
    ["guest", "Command started: exit 3"],
    ["guest", "Command ended: exit status 3: exit 3"],
  ];
  expect(await told()).toEqual([["boxyard", "Sandbox started from template base"], ...commands]);
  await client.kill();
  const all = await told();
  expect(all.slice(5)).toEqual([["boxyard", "Sandbox ended: it was killed on request"]]);
  expect(JSON.stringify(all)).not.toContain("hidden-value");
});

test("a copy of a sandbox has no commands of its source in its log, and a resumed one has each once", async () => {
  const target = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  await using sandbox = await createSandbox(platform());
  await sandbox.client.commands.run("echo source");
  const answer = await fetch(`${target.apiUrl}/sandboxes/${sandbox.id}/fork`, {
    method: "POST",
    headers: { "X-API-Key": target.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ count: 1 }),
  });
  const [{ sandbox: copy }] = (await answer.json()) as [{ sandbox: { sandboxID: string; envdAccessToken: string } }];
  const guest = async (id: string) =>
    (await Sandboxes.getLogs(id, target)).filter(({ fields }) => fields.logger === "guest").map(({ message }) => message);
  await fetch(`${target.apiUrl}/metrics`, {
    headers: { "E2b-Sandbox-Id": copy.sandboxID, "E2b-Sandbox-Port": "49983", "X-Access-Token": copy.envdAccessToken },
  });
  expect(await guest(copy.sandboxID)).toEqual([]);
  await Sandboxes.kill(copy.sandboxID, target);
  expect(await guest(sandbox.id)).toHaveLength(2);
  await sandbox.client.pause();
  const again = await reconnect(platform(), sandbox.id);
  await again.client.commands.run("echo again");
  expect(await guest(sandbox.id)).toEqual([
    "Command started: echo source",
    "Command ended: exit status 0: echo source",
    "Command started: echo again",
    "Command ended: exit status 0: echo again",
  ]);
});
