import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { type HeldSandbox, reconnect } from "../support/sandbox.ts";

// Paused sandboxes keep no processes, so that each resume is one from the disk.
const platform = usePlatform({ own: true, env: { BOXYARD_WAKE_CACHE_SECONDS: "0" } });

const READY = "/tmp/ready";

async function sandboxWith(program: string, body: object = {}): Promise<HeldSandbox> {
  const created = await platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base", timeout: 600, ...body } });
  expect(created.status).toBe(201);
  const sandbox = await reconnect(platform(), (created.body as { sandboxID: string }).sandboxID);
  await sandbox.client.files.write("/tmp/program.py", program);
  const command = await sandbox.client.commands.run("exec python3 /tmp/program.py", { user: "root", background: true, timeoutMs: 0 });
  await eventually("the program is ready", async () => (await sandbox.asRoot(`cat ${READY}`)).exitCode === 0).catch((cause) => {
    throw new Error(`${command.stdout}${command.stderr}`, { cause });
  });
  await command.disconnect();
  return sandbox;
}

const ready = `open("${READY}", "w").close()`;
const post = (sandbox: HeldSandbox, verb: string, body: object = {}) =>
  platform().api({ method: "POST", path: `/sandboxes/${sandbox.id}/${verb}`, body });
const detail = async ({ id }: HeldSandbox) =>
  (await platform().api({ path: `/sandboxes/${id}` })).body as { state: string; pauseMode?: string };

test("a sandbox with a traced process, whose time is over, is paused with its disk alone", async () => {
  const program = `
import ctypes, os, signal, time
child = os.fork()
if child == 0:
    ctypes.CDLL(None).ptrace(0, 0, 0, 0) # PTRACE_TRACEME
    os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
${ready}
time.sleep(1000)
`;
  await using sandbox = await sandboxWith(program, { autoPause: true });
  await sandbox.asRoot("echo kept > /root/file");
  const refused = await post(sandbox, "pause");
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([503, expect.stringContaining("is traced by another")]);
  await post(sandbox, "timeout", { timeout: 0 });
  await eventually("it is paused", async () => (await detail(sandbox)).pauseMode === "filesystem", { withinMs: 20_000 });
  expect((await post(sandbox, "connect", { timeout: 60 })).status).toBe(201);
  expect((await sandbox.asRoot("cat /root/file")).stdout).toBe("kept\n");
}, 60_000);
