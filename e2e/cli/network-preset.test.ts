import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { boxyard, sandboxOf } from "./support.ts";

// Names of the machine's own registries are in no test: what is tested is that the server reads its machine's settings.
const platform = usePlatform({ env: { PIP_EXTRA_INDEX_URL: "https://registry.invalid/simple" } });

/** What decided the question for `name`: a question is answered or refused by the policy, whatever else there is. */
async function decided(id: string, name: string): Promise<string> {
  await boxyard(platform(), ["exec", id, "--", "sh", "-c", `getent hosts ${name}; true`]);
  return eventually(`the question for ${name} is in the record`, async () => {
    const { stdout } = await boxyard(platform(), ["sandbox", "network-log", id, "--search", name, "--json"]);
    const last = stdout.trim().split("\n").at(-1);
    return last !== undefined && last !== "" && (JSON.parse(last).verdict as string);
  });
}

test("a preset holds from the create on, and another one at once", async () => {
  await using sandbox = await sandboxOf(platform(), ["--network", "packages"]);
  expect(await decided(sandbox.id, "registry.invalid")).toBe("allowed");
  expect(await decided(sandbox.id, "other.invalid")).toBe("denied");
  const shown = async () => {
    const headers = { "X-API-Key": platform().apiKey };
    const { network } = (await (await fetch(`${platform().apiUrl}/sandboxes/${sandbox.id}`, { headers })).json()) as { network: unknown };
    return network;
  };
  expect(await shown()).toEqual({ allowPublicTraffic: true, preset: "packages" });
  for (const [preset, name, verdict] of [
    ["none", "none.registry.invalid", "denied"],
    ["all", "all.invalid", "allowed"],
  ] as const) {
    const set = await boxyard(platform(), ["sandbox", "network", sandbox.id, preset]);
    expect([set.exitCode, set.stderr]).toEqual([0, ""]);
    expect(await shown()).toEqual({ allowPublicTraffic: true, preset });
    expect(await decided(sandbox.id, name)).toBe(verdict);
  }
  const both = await boxyard(platform(), ["sandbox", "create", "--network", "all", "--no-internet"]);
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining("--network")]);
}, 120_000);
