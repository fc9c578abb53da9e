import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { IN_FLIGHT_TWICE } from "../../packages/driver-local/src/testing/refused-programs.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox, reconnect } from "../support/sandbox.ts";

/* Programs that would make a pause fail, or its resume, as a hostile guest runs them. SECURITY.md points here by name. */

const platform = usePlatform();

/** A child that its parent traces. */
const TRACED = `
import ctypes, os, signal, time
child = os.fork()
if child == 0:
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
open("/tmp/ready", "w").close()
time.sleep(1000)
`;

async function start(sandbox: HeldSandbox, program: string): Promise<void> {
  await sandbox.client.files.write("/tmp/program.py", program);
  const command = await sandbox.client.commands.run("exec python3 /tmp/program.py", { user: "root", background: true, timeoutMs: 0 });
  await eventually("the program is ready", async () => (await sandbox.asRoot("cat /tmp/ready")).exitCode === 0);
  await command.disconnect();
}
const post = ({ id }: HeldSandbox, verb: string, body: object = {}) =>
  platform().api({ method: "POST", path: `/sandboxes/${id}/${verb}`, body });

test("memory that could not be brought back is refused by name before anything ends, and the answer says nothing about the machine", async () => {
  await using sandbox = await createSandbox(platform());
  await start(sandbox, IN_FLIGHT_TWICE);
  const { status, body } = await post(sandbox, "pause");
  expect([status, JSON.stringify(body)]).toEqual([503, expect.stringContaining("a socket in which sent descriptors wait")]);
  expect(JSON.stringify(body)).not.toMatch(/\/proc\/\d|criu\//);
  expect((await sandbox.asRoot("echo here")).stdout).toBe("here\n");
});

test("a program that makes its pause fail does not let its sandbox outlive its time", async () => {
  const made = await platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base", timeout: 600, autoPause: true } });
  const { sandboxID } = made.body as { sandboxID: string };
  await using sandbox = await reconnect(platform(), sandboxID);
  await start(sandbox, TRACED);
  expect((await post(sandbox, "pause")).status).toBe(503);
  await post(sandbox, "timeout", { timeout: 0 });
  const detail = async () => (await platform().api({ path: `/sandboxes/${sandboxID}` })).body as { pauseMode?: string };
  await eventually("its disk alone is kept", async () => (await detail()).pauseMode === "filesystem", { withinMs: 20_000 });
}, 60_000);
