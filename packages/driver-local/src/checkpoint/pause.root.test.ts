import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never, TestMachine } from "../testing/machine.ts";

describe("pause and resume", () => {
  setDefaultTimeout(60_000);
  let machine: TestMachine;
  beforeAll(async () => {
    machine = await TestMachine.make();
  }, 600_000);
  afterEach(() => machine.destroyAll(), 60_000);
  afterAll(() => machine?.dispose(), 60_000);

  test("processes go on with their memory, and the disk is as it was", async () => {
    const { driver } = machine;
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    const before = await driver.address(handle);
    await initAgent(before);
    await startUnread(before, "n=0; while n=$((n+1)); do echo $n > /root/count; sleep 0.02; done");
    await exec(before, "echo kept > /root/file; cat /proc/sys/kernel/random/boot_id");
    await driver.pause(handle, { memory: true }, never);
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    const address = await driver.address(resumed);
    const count = async () => Number((await exec(address, "cat /root/count")).output);
    await initAgent(address);
    const first = await count();
    expect(first).toBeGreaterThan(0);
    await eventually("the loop goes on", async () => (await count()) > first);
    expect((await exec(address, "cat /root/file")).output).toBe("kept\n");
    const hosts = (await exec(address, "cat /etc/hosts")).output;
    expect([hosts.includes(`${address.host} test`), hosts.includes(before.host)]).toEqual([true, false]);
  });

  test("without memory it boots from its disk", async () => {
    const { driver } = machine;
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    await initAgent(await driver.address(handle));
    await startUnread(await driver.address(handle), "exec sleep 1000");
    await exec(await driver.address(handle), "echo kept > /root/file");
    await driver.pause(handle, { memory: false }, never);
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    const address = await driver.address(resumed);
    await initAgent(address);
    const { output } = await exec(
      address,
      `cat /root/file; cat /proc/[0-9]*/comm | grep -c sleep; grep -c '${address.host} test' /etc/hosts`,
    );
    expect(output).toBe("kept\n0\n1\n");
  });
});
