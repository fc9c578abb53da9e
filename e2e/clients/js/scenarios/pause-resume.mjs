import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

const BOOT_ID = "cat /proc/sys/kernel/random/boot_id";

/** With its memory: processes, terminals, what they have open and what they watch go on, under the same id. */
export default async function (client) {
  const { Sandbox } = client;
  await withSandbox(client, async (sandbox) => {
    const id = sandbox.sandboxId;
    await sandbox.files.write("kept", "on the disk");
    const loop = await sandbox.commands.run("n=0; while n=$((n+1)); do echo $n; sleep 0.05; done", { background: true });
    await sandbox.commands.run("python3 -m http.server 8000", { background: true });
    await sandbox.commands.run("touch grows; exec tail -n0 -f grows > seen", { background: true, cwd: "/home/user" });
    const watcher = "require('fs').watch('/home/user/kept', () => require('fs').writeFileSync('/tmp/told', 'yes')); console.log('watches')";
    let said = "";
    await sandbox.commands.run(`exec node -e "${watcher}"`, {
      background: true,
      onStdout: (text) => {
        said += text;
      },
    });
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData() {} });
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("here=still\n"));
    const serves = async (of) => (await of.commands.run("curl -s -o /dev/null -w '%{http_code}' localhost:8000 || true")).stdout === "200";
    await eventually(
      "everything runs",
      async () => said.includes("watches") && (await sandbox.files.exists("seen")) && (await serves(sandbox)),
    );

    assert.equal(await pauseOf(sandbox), true);
    assert.equal(await pauseOf(sandbox), false);
    assert.equal((await Sandbox.getInfo(id)).state, "paused");
    assert.equal(await sandbox.isRunning(), false);
    await assert.rejects(sandbox.commands.run("true"));
    const listed = await Sandbox.list({ query: { state: ["paused"] } }).nextItems();
    assert.ok(listed.some((entry) => entry.sandboxId === id && entry.state === "paused"));

    const resumed = await Sandbox.connect(id, { timeoutMs: 120_000 });
    assert.equal(resumed.sandboxId, id);
    assert.equal((await Sandbox.getInfo(id)).state, "running");
    assert.equal(await resumed.files.read("kept"), "on the disk");
    assert.ok(await serves(resumed));
    let counted = "";
    const again = await resumed.commands.connect(loop.pid, {
      onStdout: (text) => {
        counted += text;
      },
    });
    await eventually("the loop counts on", () => counted.split("\n").length > 5);
    const numbers = counted.split("\n").filter(Boolean).map(Number);
    assert.ok(
      numbers.every((number, i) => i === 0 || number === numbers[i - 1] + 1),
      "no number is missing or twice",
    );
    assert.equal(await again.kill(), true);
    await resumed.commands.run("echo more >> /home/user/grows; echo changed >> /home/user/kept");
    await eventually("tail has seen it", async () => (await resumed.files.read("seen")) === "more\n");
    await eventually("the watch was told", () => resumed.files.exists("/tmp/told"));
    let shown = "";
    await resumed.pty.connect(terminal.pid, {
      onData: (bytes) => {
        shown += new TextDecoder().decode(bytes);
      },
    });
    await resumed.pty.sendInput(terminal.pid, new TextEncoder().encode("echo $here-alive\n"));
    await eventually("the shell has its variable", () => shown.includes("still-alive"));
    const hostname = (await resumed.commands.run("hostname")).stdout.trim();
    assert.equal(hostname, id);
  });
  await withSandbox(client, async (sandbox) => {
    // Several times in a row, and killed while it is paused.
    for (let round = 0; round < 3; round++) {
      await sandbox.files.write(`round-${round}`, "x");
      assert.equal(await pauseOf(sandbox), true);
      sandbox = await Sandbox.connect(sandbox.sandboxId);
      assert.equal((await sandbox.commands.run("ls | wc -l")).stdout, `${round + 1}\n`);
    }
    // By its id alone; and without its memory, which older clients can't ask for.
    assert.equal(await (Sandbox.pause ?? Sandbox.betaPause).call(Sandbox, sandbox.sandboxId), true);
    sandbox = await Sandbox.connect(sandbox.sandboxId);
    if (sandbox.pause) {
      await sandbox.commands.run("exec sleep 1000", { background: true });
      assert.equal(await sandbox.pause({ keepMemory: false }), true);
      sandbox = await Sandbox.connect(sandbox.sandboxId);
      assert.deepEqual(await sandbox.commands.list(), []);
      assert.equal((await sandbox.commands.run("ls | wc -l")).stdout, "3\n");
    }
    const before = (await sandbox.commands.run(BOOT_ID)).stdout;
    assert.equal((await sandbox.commands.run(BOOT_ID)).stdout, before);
    await pauseOf(sandbox);
    assert.equal(await Sandbox.kill(sandbox.sandboxId), true);
    await assert.rejects(Sandbox.connect(sandbox.sandboxId), client.NotFoundError);
  });
}

/** Clients before 2.46 know it by another name. */
const pauseOf = (sandbox) => (sandbox.pause ?? sandbox.betaPause).call(sandbox);
