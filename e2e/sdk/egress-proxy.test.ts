import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import * as e2b from "e2b";
import { usePlatform } from "../support/platform.ts";
import { connection } from "../support/sandbox.ts";

const platform = usePlatform();

/** The host from which this machine installs npm packages: one that it reaches by HTTPS. */
async function registryHost(): Promise<string> {
  const asked = Bun.spawn(["npm", "config", "get", "registry"], { stdout: "pipe" });
  return new URL((await new Response(asked.stdout).text()).trim()).hostname;
}

type Commands = { commands: { run(command: string): Promise<{ stdout: string }> } };

test("a proxy that is not there closes a sandbox, through all that it is taken through, until an update takes it away", async () => {
  const host = await registryHost();
  const ours = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const open = async ({ commands }: Commands) =>
    (await commands.run(`curl -s --max-time 20 -o /dev/null https://${host}/ && echo open || echo closed`)).stdout.trim();
  // No name server has names below `invalid`.
  const egressProxy = { address: "proxy.invalid:1080", username: "u", password: "p" };
  const theirs = await e2b.Sandbox.create({ ...connection(platform()), network: { egressProxy } as object });
  await using sandbox = await Sandbox.connect(theirs.sandboxId, ours);
  expect((await theirs.getInfo()).network).toMatchObject({ egressProxy: { address: egressProxy.address, username: "u" } });
  expect(JSON.stringify(await theirs.getInfo())).not.toContain("password");
  expect(await open(theirs)).toBe("closed");

  const [copy] = await sandbox.fork();
  if (!copy || "error" in copy) throw copy?.error ?? new Error("there is no fork");
  expect(await open(copy.sandbox)).toBe("closed");
  await copy.sandbox.updateNetwork({});
  expect([await open(copy.sandbox), await open(theirs)]).toEqual(["open", "closed"]);
  await copy.sandbox.kill();

  for (const keepMemory of [true, false]) {
    await sandbox.pause({ keepMemory });
    expect([keepMemory, await open(await Sandbox.connect(sandbox.sandboxId, ours))]).toEqual([keepMemory, "closed"]);
  }
  await platform().kill9();
  await platform().restart();
  expect(await open(sandbox)).toBe("closed");
  await sandbox.updateNetwork({});
  expect(await open(sandbox)).toBe("open");
  await sandbox.updateNetwork({ egressProxy });
  expect(await open(sandbox)).toBe("closed");
}, 180_000);
