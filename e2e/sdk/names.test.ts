import { expect, test } from "bun:test";
import { InvalidArgumentError, Sandbox } from "@boxyard/sdk";
import * as e2b from "e2b";
import { usePlatform } from "../support/platform.ts";
import { connection } from "../support/sandbox.ts";

const platform = usePlatform();
const DENIED = { denyOut: ["0.0.0.0/0"] };

/** The host from which this machine installs npm packages: one that it reaches by HTTPS. */
async function registryHost(): Promise<string> {
  const asked = Bun.spawn(["npm", "config", "get", "registry"], { stdout: "pipe" });
  const url = new URL((await new Response(asked.stdout).text()).trim());
  expect(url.protocol).toBe("https:");
  return url.hostname;
}

test("hosts are allowed by name in both clients, through all that a sandbox is taken through", async () => {
  const host = await registryHost();
  const ours = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  // The address is the same each time, so that the name alone makes the difference.
  const look = (name: string) =>
    `curl -sk --max-time 20 -o /dev/null -w '%{http_code}' --resolve other.example:443:$(getent ahostsv4 ${host} | awk 'NR==1{print $1}') https://${name}/`;
  const code = async ({ commands }: { commands: { run(command: string): Promise<{ stdout: string }> } }, name = host) =>
    (await commands.run(`${look(name)} || true`)).stdout.slice(-3);
  const network = { allowOut: [host.toUpperCase()], ...DENIED };

  const theirs = await e2b.Sandbox.create({ ...connection(platform()), network });
  await using sandbox = await Sandbox.connect(theirs.sandboxId, ours);
  expect((await theirs.getInfo()).network).toMatchObject(network);
  const answer = await code(theirs);
  expect(answer).not.toBe("000");
  expect(await code(theirs, "other.example")).toBe("000");

  const [copy] = await sandbox.fork();
  if (!copy || "error" in copy) throw copy?.error ?? new Error("there is no fork");
  expect([await code(copy.sandbox), await code(copy.sandbox, "other.example")]).toEqual([answer, "000"]);
  await copy.sandbox.kill();

  await theirs.updateNetwork({ allowOut: ["other.example"], ...DENIED });
  expect(await code(theirs)).toBe("000");
  await sandbox.updateNetwork({ allowOut: [`*.${host.split(".").slice(1).join(".")}`], ...DENIED });
  expect(await code(theirs)).toBe(answer);

  for (const keepMemory of [true, false]) {
    await sandbox.pause({ keepMemory });
    const resumed = await Sandbox.connect(sandbox.sandboxId, ours);
    expect([keepMemory, await code(resumed), await code(resumed, "other.example")]).toEqual([keepMemory, answer, "000"]);
  }
  await platform().kill9();
  await platform().restart();
  expect([await code(sandbox), await code(sandbox, "other.example")]).toEqual([answer, "000"]);
}, 180_000);

test("names without the denial of everything else are refused", async () => {
  const refused = await Sandbox.create({
    apiUrl: platform().apiUrl,
    apiKey: platform().apiKey,
    network: { allowOut: ["a.example"] },
  }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(InvalidArgumentError);
  expect((refused as InvalidArgumentError).message).toContain("add '0.0.0.0/0' to network.denyOut");
});
