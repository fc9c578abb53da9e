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
    "pty.connect, a resize of columns only, and pty.kill",
    async ({ sdk, sandbox, options }) => {
      const first = await sandbox.pty.create({ cols: 80, rows: 37 });
      await first.disconnect();
      let seen = "";
      const onData = (data: Uint8Array) => {
        seen += new TextDecoder().decode(data);
      };
      const second = await sandbox.pty.connect(first.pid, { onData });
      await sandbox.pty.sendInput(first.pid, bytes("echo $((6*7))\n"));
      await until(() => seen.includes("42\r\n"));
      // A client that did not make the session knows nothing of its rows.
      const other = await sdk.Sandbox.connect(sandbox.sandboxId, options);
      await other.pty.resize(first.pid, { cols: 111 });
      await sandbox.pty.sendInput(first.pid, bytes("stty size\n"));
      await until(() => seen.includes("37 111\r\n"));
      assert.equal(await sandbox.pty.kill(first.pid), true);
      assert.equal((await failure(second.wait(), sdk.CommandExitError)).error, "signal: killed");
      assert.equal(await sandbox.pty.kill(first.pid), false);
    },
  ],
  [
    "pty.connect with fromOffset shows the screen as it was, and goes on where an earlier handle was",
    async ({ sdk, sandbox }) => {
      const screen = () => {
        const shown = { text: "" };
        const onData = (data: Uint8Array) => {
          shown.text += new TextDecoder().decode(data);
        };
        return { shown, onData };
      };
      const first = screen();
      const terminal = await sandbox.pty.create({ cols: 80, rows: 24, ...first });
      await terminal.sendStdin("echo $((6*7))\n");
      await until(() => first.shown.text.includes("42\r\n"));
      await terminal.disconnect();
      const again = screen();
      const second = await sandbox.pty.connect(terminal.pid, { ...again, fromOffset: 0 });
      await until(() => again.shown.text.includes("42\r\n"));
      assert.ok(again.shown.text.startsWith(first.shown.text));
      await second.disconnect();
      await sandbox.pty.sendInput(terminal.pid, bytes("echo $((7*8))\n"));
      const rest = screen();
      const third = await sandbox.pty.connect(terminal.pid, { ...rest, fromOffset: second.outputOffset });
      await until(() => rest.shown.text.includes("56\r\n"));
      assert.ok(!rest.shown.text.includes("42\r\n"));
      assert.ok(third.outputOffset > second.outputOffset);
      await failure(sandbox.pty.connect(terminal.pid, { fromOffset: -1 }), sdk.InvalidArgumentError);
      await third.kill();
    },
  ],
];
