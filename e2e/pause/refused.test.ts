import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { daemons, IN_FLIGHT_TWICE } from "../../packages/driver-local/src/testing/refused-programs.ts";
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

test.each([
  ["in which daemons share memory", daemons(300, 4), "would not share it after a resume"],
  ["with descriptors in flight within others", IN_FLIGHT_TWICE, "a socket in which sent descriptors wait"],
])(
  "a sandbox %s is neither paused nor forked with its memory, and runs on",
  async (_name, program, sentence) => {
    await using sandbox = await sandboxWith(program, {});
    for (const [verb, body] of [
      ["pause", {}],
      ["fork", { timeout: 60 }],
      ["snapshots", {}],
    ] as const) {
      const refused = await post(sandbox, verb, body);
      expect([verb, refused.status, refused.headers.has("Retry-After")]).toEqual([verb, 503, false]);
      expect(JSON.stringify(refused.body)).toContain(sentence);
      expect(JSON.stringify(refused.body)).not.toMatch(/\/proc\/\d|criu\//);
    }
    expect((await sandbox.asRoot("echo here")).stdout).toBe("here\n");
    expect((await post(sandbox, "pause", { memory: false })).status).toBe(204);
    expect((await post(sandbox, "connect", { timeout: 60 })).status).toBe(201);
    expect((await sandbox.asRoot("echo here")).stdout).toBe("here\n");
  },
  120_000,
);
