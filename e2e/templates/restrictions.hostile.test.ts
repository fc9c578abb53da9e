import { afterAll, expect, test } from "bun:test";
import { Template } from "@boxyard/sdk/template";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
const NAME = "restricted";
const CHILD = "restricted-child";
const server = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
afterAll(async () => {
  for (const name of [CHILD, NAME]) await Template.delete(name, server()).catch(() => {});
});

/** What root and an ordinary user of a sandbox can do with privileges. */
async function tried(template: string): Promise<string[]> {
  await using sandbox = await createSandbox(platform(), {}, template);
  const { stdout } = await sandbox.asRoot(
    "grep -E '^(NoNewPrivs|CapBnd):' /proc/self/status; (sudo -u user sudo -n id -u || echo no sudo) 2>&1 | tail -1; " +
      "setpriv --reuid=1000 --regid=1000 --clear-groups sleep 30 & until [ $(cat /proc/$!/comm) = sleep ]; do :; done; readlink /proc/$!/exe >/dev/null && echo looks || echo blind",
  );
  return stdout.trim().split("\n");
}

test("a template's sandboxes do without sudo and without a root that looks into others' processes, and so do those made from it", async () => {
  const [bounding, noNewPrivs, sudo, look] = await tried("base");
  expect([noNewPrivs, sudo, look]).toEqual(["NoNewPrivs:\t0", "0", "looks"]);
  const PTRACE = 1n << 19n;
  expect(BigInt(`0x${bounding?.split("\t")[1]}`) & PTRACE).toBe(PTRACE);

  await Template.fromTemplate("base").restrict({ noNewPrivileges: true, noPtrace: true }).build(NAME, server());
  await Template.fromTemplate(NAME).env({ A: "1" }).build(CHILD, server());
  for (const name of [NAME, CHILD]) {
    const [bound, noNew, refused, blind] = await tried(name);
    expect([name, noNew]).toEqual([name, "NoNewPrivs:\t1"]);
    expect(BigInt(`0x${bound?.split("\t")[1]}`) & PTRACE).toBe(0n);
    expect(refused).not.toBe("0");
    expect(blind).toBe("blind");
  }
}, 120_000);
