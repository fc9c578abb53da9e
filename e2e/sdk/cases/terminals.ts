import assert from "node:assert/strict";
import { bytes, type Case, failure, until } from "./kit.ts";

/** Section 4.6 for terminals, row by row. */
export const TERMINALS: readonly Case[] = [
  [
    "pty.create, sendInput, resize, and the exit code",
    async ({ sdk, sandbox }) => {
      let seen = "";
      const onData = (data: Uint8Array) => {
        seen += new TextDecoder().decode(data);
      };
      const terminal = await sandbox.pty.create({ cols: 90, rows: 20, onData, envs: { A: "1" }, cwd: "/tmp", user: "root" });
      await sandbox.pty.sendInput(terminal.pid, bytes("stty size; echo $A-$TERM-$(pwd)-$(id -un)\n"));
      await until(() => seen.includes("20 90\r\n") && seen.includes("1-xterm-256color-/tmp-root\r\n"));
      await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 50 });
      await sandbox.pty.resize(terminal.pid, { cols: 110 });
      await sandbox.pty.sendInput(terminal.pid, bytes("stty size; exit 3\n"));
      assert.equal((await failure(terminal.wait(), sdk.CommandExitError)).exitCode, 3);
      assert.ok(seen.includes("50 110\r\n"), "a resize without rows keeps them");
      await failure(sandbox.pty.resize(terminal.pid, { cols: 1 }), sdk.NotFoundError);
    },
  ],
  [
    "pty.connect and pty.kill",
    async ({ sdk, sandbox }) => {
      const first = await sandbox.pty.create({ cols: 80, rows: 24 });
      await first.disconnect();
      let seen = "";
      const onData = (data: Uint8Array) => {
        seen += new TextDecoder().decode(data);
      };
      const second = await sandbox.pty.connect(first.pid, { onData });
      await sandbox.pty.sendInput(first.pid, bytes("echo $((6*7))\n"));
      await until(() => seen.includes("42\r\n"));
      assert.equal(await sandbox.pty.kill(first.pid), true);
      assert.equal((await failure(second.wait(), sdk.CommandExitError)).error, "signal: killed");
      assert.equal(await sandbox.pty.kill(first.pid), false);
    },
  ],
];
