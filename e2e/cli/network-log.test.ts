import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { boxyard } from "./support.ts";

const platform = usePlatform();

test("what a sandbox tries to reach is shown with what decided, and a policy for it is suggested", async () => {
  const network = { allowOut: ["allowed.invalid"], denyOut: ["0.0.0.0/0"] };
  await using sandbox = await createSandbox(platform(), { network });
  await sandbox.asRoot("getent hosts denied.invalid; getent hosts allowed.invalid; exec 3<>/dev/tcp/192.0.2.1/25; true");
  const said = async (...words: string[]) => (await boxyard(platform(), ["sandbox", ...words])).stdout;
  const lines = await eventually("all is there", async () => {
    const text = await said("network-log", sandbox.id);
    return ["denied.invalid", "allowed.invalid", "192.0.2.1:25"].every((what) => text.includes(what)) && text;
  });
  expect(lines).toMatch(/ denied {2}dns {2}denied\.invalid {2}the name is not in allowOut\n/);
  expect(lines).toMatch(/ allowed dns {2}allowed\.invalid {2}allowOut allowed\.invalid\n/);
  expect(lines).toMatch(/ denied {2}tcp {2}192\.0\.2\.1:25 {2}(denyOut 0\.0\.0\.0\/0|a private, .*)\n/);
  expect(await said("network-log", sandbox.id, "--denied", "--search", "allowed.invalid")).toBe("");
  const suggested = JSON.parse(await said("network-suggest", sandbox.id));
  expect(suggested.denyOut).toEqual(["0.0.0.0/0"]);
  expect(suggested.allowOut).toEqual(expect.arrayContaining(["allowed.invalid", "denied.invalid"]));
}, 60_000);
