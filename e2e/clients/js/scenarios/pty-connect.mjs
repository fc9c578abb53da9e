import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

/** What a terminal shows, as text. */
function screen() {
  const decoder = new TextDecoder();
  const seen = {
    text: "",
    onData: (data) => {
      seen.text += decoder.decode(data, { stream: true });
    },
    shows: (text) => eventually(`${JSON.stringify(text)} in ${JSON.stringify(seen.text)}`, () => seen.text.includes(text)),
  };
  return seen;
}

/** A terminal of another user, in a directory, with variables, without a time limit; left by one client and taken up by another. */
export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    const bytes = (text) => new TextEncoder().encode(text);
    const first = screen();
    const options = { user: "root", cwd: "/etc", envs: { GREETING: "ahoj" }, timeoutMs: 0 };
    const created = await sandbox.pty.create({ cols: 80, rows: 24, onData: first.onData, ...options });
    await sandbox.pty.sendInput(created.pid, bytes("echo $(id -un):$PWD:$GREETING-$TERM-$LANG\n"));
    await first.shows("root:/etc:ahoj-xterm-256color-C.UTF-8\r\n");
    await created.disconnect();

    const elsewhere = await client.Sandbox.connect(sandbox.sandboxId);
    const second = screen();
    const handle = await elsewhere.pty.connect(created.pid, { onData: second.onData, timeoutMs: 0 });
    assert.equal(handle.pid, created.pid);
    await elsewhere.pty.resize(handle.pid, { cols: 101, rows: 37 });
    await elsewhere.pty.sendInput(handle.pid, bytes("stty size; echo on-$((40+2))\n"));
    await second.shows("37 101\r\non-42\r\n");
    await elsewhere.pty.sendInput(handle.pid, bytes("exit 3\n"));
    await assert.rejects(handle.wait(), (error) => error instanceof client.CommandExitError && error.exitCode === 3);
    await assert.rejects(elsewhere.pty.connect(created.pid + 1_000_000, { onData() {} }), client.NotFoundError);
  });
}
