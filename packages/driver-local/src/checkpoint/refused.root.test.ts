import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import * as programs from "../testing/refused-programs.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

describe("a pause with memory of a sandbox", () => {
  setDefaultTimeout(90_000);
  const machine = useTestMachine();
  afterEach(() => machine.destroyAll(), 60_000);

  const sandboxWith = async (program: string) => {
    const spec = machine.spec({ memoryBytes: 256 << 20, maxProcesses: 512 });
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address);
    await exec(address, `cat > /root/program.py <<'END'\n${program}\nEND`);
    await startUnread(address, "cd /root; ulimit -n 10000; exec python3 /root/program.py > /root/out 2>&1");
    await eventually("the program is ready", async () => (await exec(address, "test -e /tmp/ready")).exitCode === 0);
    return { spec, handle, address };
  };

  test.each([
    ["in a directory with a long path", programs.LONG_DIRECTORY, "longer than 4 KiB"],
    ["with an answer of netlink that is not read", programs.UNREAD_NETLINK, "by a netlink socket"],
    ["with thousands of pipes", programs.MANY_PIPES, "too many pipes"],
    ["with descriptors in flight within others", programs.IN_FLIGHT_TWICE, "a socket in which sent descriptors wait"],
    ["with daemons that share more memory than the sandbox has", programs.daemons(100, 4), "would not share it after a resume"],
  ])("%s is refused in our words, and the sandbox runs on", async (_name, program, sentence) => {
    const { handle, address } = await sandboxWith(program);
    const error = await machine.driver.pause(handle, { memory: true }, never).catch((e: unknown) => e);
    expect(isAppError(error, "failed_precondition")).toBe(true);
    expect((error as Error).message).toContain(sentence);
    expect((error as Error).message).not.toMatch(/\/proc\/\d|pid|criu\//);
    expect((await exec(address, "echo here")).output).toBe("here\n");
  });

  test.each([
    ["with descriptors in flight", programs.IN_FLIGHT_ONCE],
    ["with children that share more memory with their parent than the sandbox has", programs.children(100, 4)],
  ])("%s can be resumed", async (_name, program) => {
    const { spec, handle } = await sandboxWith(program);
    await machine.driver.pause(handle, { memory: true }, never);
    const address = await machine.driver.address(await machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never));
    await initAgent(address);
    expect((await exec(address, "echo here")).output).toBe("here\n");
  });
});
