import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentAddress, SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never, TestMachine } from "../testing/machine.ts";

describe("snapshots", () => {
  setDefaultTimeout(60_000);
  let machine: TestMachine;
  beforeAll(async () => {
    machine = await TestMachine.make();
  }, 600_000);
  afterEach(async () => {
    await machine.destroyAll();
    for (const { id } of await machine.driver.snapshots.list()) await machine.driver.snapshots.remove(id);
    expect(readdirSync(join(machine.dataDir, "pool/snapshots"))).toEqual([]);
  }, 60_000);
  afterAll(() => machine?.dispose(), 60_000);

  const capture = (handle: SandboxHandle, id: string, memory = true) => machine.driver.snapshots.capture(handle, { id, memory }, never);
  const specFrom = (snapshot: string, memory = true): SandboxSpec => ({
    ...machine.spec(),
    ...{ hostname: "fork", from: { snapshot, memory }, agent: { initKey: "a-key-of-the-fork-alone" } },
  });
  /** A running sandbox whose agent knows what it must. */
  const boot = async (spec = machine.spec()): Promise<{ handle: SandboxHandle; address: AgentAddress }> => {
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address, spec.agent.initKey);
    return { handle, address };
  };
  const output = async (address: AgentAddress, command: string) => (await exec(address, command)).output;
  const goesOn = async (address: AgentAddress, file = "/root/count") => {
    const count = async () => Number(await output(address, `cat ${file}`));
    const seen = await count();
    await eventually("the loop goes on", async () => (await count()) > seen);
  };

  test("a fork goes on with its source's processes and disk, and each is by itself", async () => {
    const source = await boot();
    await startUnread(source.address, "n=0; while n=$((n+1)); do echo $n > /root/count; sleep 0.02; done");
    await output(source.address, "echo kept > /root/file; useradd -m other; echo mine > /home/other/file; chown other /home/other/file");
    await capture(source.handle, "s");
    await output(source.address, "echo later > /root/file");
    const forks = await Promise.all([boot(specFrom("s")), boot(specFrom("s"))]);
    for (const { address } of [source, ...forks]) await goesOn(address);
    for (const { handle, address } of forks) {
      expect(await output(address, "cat /root/file; hostname; cat /etc/hostname; stat -c '%U %u' /home/other/file /root/file")).toBe(
        "kept\nfork\nfork\nother 1001\nroot 0\n",
      );
      const hosts = await output(address, "cat /etc/hosts");
      expect([hosts.includes(`${address.host} fork`), hosts.includes(source.address.host)]).toEqual([true, false]);
      expect(await output(address, `echo ${handle.sandboxId} > /tmp/file && chown other /tmp/file && su other -c 'cat /tmp/file'`)).toBe(
        `${handle.sandboxId}\n`,
      );
    }
    expect(await output(source.address, "cat /root/file")).toBe("later\n");
    const base = (handle: SandboxHandle) => readFileSync(`/proc/${machine.initPid(handle)}/uid_map`, "utf8");
    expect(new Set([source, ...forks].map(({ handle }) => base(handle))).size).toBe(3);
  });

  test("a start from the disk alone boots with what was there", async () => {
    const source = await boot();
    await startUnread(source.address, "exec sleep 1000");
    await output(source.address, "echo kept > /root/file");
    await capture(source.handle, "s");
    const { address } = await boot(specFrom("s", false));
    expect(await output(address, "cat /root/file /etc/hostname; cat /proc/[0-9]*/comm | grep -c sleep")).toBe("kept\nfork\n0\n");
  });
});
