import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { TRANSITION_POINTS } from "@boxyard/testkit/fault-points";
import { CommandExitError } from "e2b";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { serverEnds } from "../support/server-ends.ts";

const platform = usePlatform({ faults: true });

const COUNT = "i=0; while :; do i=$((i+1)); echo $i; echo $i > /tmp/count; sleep 0.1; done";
const countOf = async (sandbox: HeldSandbox) => Number((await sandbox.asRoot("cat /tmp/count")).stdout);
const stateOf = async (id: string) => ((await platform().api({ path: `/sandboxes/${id}` })).body as { state?: string }).state;

for (const [name, end] of Object.entries(serverEnds(platform))) {
  test(`after ${name} of the server a paused sandbox is paused, and goes on where it was`, async () => {
    await using sandbox = await createSandbox(platform(), { timeoutMs: 600_000 });
    const command = await sandbox.client.commands.run(COUNT, { background: true, timeoutMs: 0 });
    await command.disconnect();
    await eventually("it counts", async () => (await countOf(sandbox)) > 2);
    expect(await sandbox.client.pause()).toBe(true);

    await end();

    expect(await stateOf(sandbox.id)).toBe("paused");
    await sandbox.client.connect();
    const seen = await countOf(sandbox);
    await eventually("it counts on", async () => (await countOf(sandbox)) > seen);
    let output = "";
    const again = await sandbox.client.commands.connect(command.pid, {
      onStdout: (text) => {
        output += text;
      },
    });
    const numbers = () => output.trim().split("\n").map(Number);
    await eventually("its output arrives", () => numbers().length > 3);
    // None is missing since its first client left, and none comes twice.
    expect(numbers()).toEqual(numbers().map((_, index) => (numbers()[0] as number) + index));
    expect(await again.kill()).toBe(true);
  });

  test(`after ${name} of the server a sandbox can be paused that runs on`, async () => {
    await using sandbox = await createSandbox(platform(), { timeoutMs: 600_000 });
    await end();
    await sandbox.asRoot("echo kept > /root/file");
    expect(await sandbox.client.pause()).toBe(true);
    await sandbox.client.connect();
    expect((await sandbox.asRoot("cat /root/file")).stdout).toBe("kept\n");
  });
}

test("a command from before a resume from disk is told to have run out of memory, also when others had before it", async () => {
  await using sandbox = await createSandbox(platform(), { timeoutMs: 600_000 });
  const hog = `exec python3 -c 'b"x" * (8 << 30)'`;
  const first = await sandbox.client.commands.run(hog, { background: true, timeoutMs: 0 });
  await expect(first.wait()).rejects.toThrow("out of memory");
  const options = { background: true, timeoutMs: 0 } as const;
  const waiting = await sandbox.client.commands.run(`until [ -e /tmp/go ]; do sleep 0.05; done; ${hog}`, options);
  await waiting.disconnect();
  expect(await sandbox.client.pause()).toBe(true);
  // So that nothing of it is in memory any more.
  await platform().restart();
  await sandbox.client.connect();
  const again = await sandbox.client.commands.connect(waiting.pid);
  await sandbox.asRoot("touch /tmp/go");
  await expect(again.wait()).rejects.toThrow("out of memory");
}, 120_000);

test("a pause in the middle of an upload and of a command's output breaks both off, and loses nothing that had arrived", async () => {
  await using sandbox = await createSandbox(platform(), { timeoutMs: 600_000 });
  const lines = "until [ -e /tmp/enough ]; do echo a line of output; sleep 0.01; done; exit 7";
  const command = await sandbox.client.commands.run(lines, { background: true, timeoutMs: 0 });
  const followed = command.wait().then(
    () => "ended",
    (error: unknown) => (error instanceof CommandExitError ? "ended" : "broken off"),
  );
  await eventually("its output comes", () => command.stdout !== "");
  const endless = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(new Uint8Array(65_536));
      await Bun.sleep(5);
    },
  });
  const upload = sandbox.client.files.write("/root/never", endless, { user: "root" }).then(
    () => "done",
    () => "broken off",
  );
  await sandbox.asRoot("echo whole > /root/whole");
  expect(await sandbox.client.pause()).toBe(true);
  expect([await upload, await followed]).toEqual(["broken off", "broken off"]);
  await sandbox.client.connect();
  expect((await sandbox.asRoot("cat /root/whole; ls /root/never 2>&1 | wc -l")).stdout).toBe("whole\n1\n");
  const again = await sandbox.client.commands.connect(command.pid);
  await sandbox.asRoot("touch /tmp/enough");
  await expect(again.wait()).rejects.toMatchObject({ exitCode: 7 });
});

const DONE = { pause: 204, resume: 201 } as const;
for (const [verb, done] of Object.entries(DONE) as [keyof typeof DONE, number][]) {
  for (const point of TRANSITION_POINTS[verb].filter(({ layer }) => layer === "server")) {
    test(`a sandbox is killed while its ${verb} is before '${point.step}': nothing is left of it`, async () => {
      const { id } = await createSandbox(platform(), { timeoutMs: 600_000 });
      const ask = (method: string, path = "") => platform().api({ method, path: `/sandboxes/${id}${path}`, ...(path && { body: {} }) });
      if (verb === "resume") expect((await ask("POST", "/pause")).status).toBe(204);
      platform().inject({ ...point, when: "before", act: "hold" });
      const change = ask("POST", `/${verb}`);
      await platform().faultsHappened();
      expect((await ask("DELETE")).status).toBe(204);
      const ended = expect.objectContaining({ message: expect.stringContaining("The sandbox was ended meanwhile") });
      // Only the result does not ask whether the sandbox is to be ended.
      const isDone = point.step === `${verb} result`;
      expect(await change).toMatchObject(isDone ? { status: done } : { status: 409, body: ended });
      expect(await stateOf(id)).toBeUndefined();
      expect(keptSandboxes(platform())).toEqual([]);
    });
  }
}
