import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type Case, failure, until } from "./kit.ts";

/** Much output, odd output, and output that is cut. */
export const STREAMS: readonly Case[] = [
  [
    "100 MB of output, whole and in order",
    async ({ sandbox }) => {
      const program = "seq 1 14000000 | head -c 100000000";
      const handle = await sandbox.commands.spawn(["sh", "-c", program], { timeoutMs: 0, retainOutput: false });
      // Every 997th byte goes into a sum that depends on the order.
      let count = 0;
      let sum = 0;
      for await (const { data } of handle) {
        for (let i = (997 - (count % 997)) % 997; i < data.length; i += 997) sum = (sum * 31 + (data[i] ?? 0)) % 1_000_003;
        count += data.length;
      }
      const sumInside = "import sys\ns = 0\nfor b in sys.stdin.buffer.read()[::997]: s = (s * 31 + b) % 1000003\nprint(s)";
      const { stdout } = await sandbox.commands.run(`${program} | python3 -c '${sumInside}'`);
      assert.deepEqual([count, `${sum}\n`], [100_000_000, stdout]);
    },
  ],
  [
    "binary output, and characters cut between messages",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.spawn(["sh", "-c", "head -c 65536 /dev/urandom | tee /tmp/random"]);
      const pieces: Uint8Array[] = [];
      for await (const { data } of handle) pieces.push(data);
      const file = await sandbox.files.read("/tmp/random", { format: "bytes" });
      assert.equal(Buffer.compare(Buffer.concat(pieces), Buffer.from(file)), 0);
      const { stdout } = await sandbox.commands.run("for i in $(seq 20000); do printf €; done");
      assert.equal(stdout, "€".repeat(20_000));
    },
  ],
  [
    "100 commands at once",
    async ({ sandbox }) => {
      const results = await Promise.all(Array.from({ length: 100 }, (_, i) => sandbox.commands.run(`echo ${i}`, { timeoutMs: 120_000 })));
      assert.deepEqual(
        results.map(({ stdout }) => stdout),
        Array.from({ length: 100 }, (_, i) => `${i}\n`),
      );
    },
  ],
  [
    "a killed sandbox is told apart, by streams and by calls",
    async ({ sdk, sandbox }) => {
      const handle = await sandbox.commands.run("sleep 60", { background: true });
      const exits: unknown[] = [];
      await sandbox.files.watchDir("/tmp", () => {}, { onExit: (error) => void exits.push(error) });
      await sandbox.kill();
      assert.ok((await failure(handle.wait(), sdk.BoxyardError)) instanceof sdk.SandboxEndedError);
      await until(() => exits.length > 0);
      assert.ok(exits[0] instanceof sdk.SandboxEndedError);
      assert.equal(await sandbox.isRunning(), false);
      await failure(sandbox.commands.run("true"), sdk.SandboxEndedError);
      await failure(sandbox.files.read("/etc/hostname"), sdk.SandboxEndedError);
    },
  ],
];
