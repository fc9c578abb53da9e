import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ pty, commands }) => {
    let screen = "";
    const decoder = new TextDecoder();
    const onData = (data) => {
      screen += decoder.decode(data, { stream: true });
    };
    const type = (text) => pty.sendInput(terminal.pid, new TextEncoder().encode(text));
    const shows = (text) => eventually(`${JSON.stringify(text)} in ${JSON.stringify(screen)}`, () => screen.includes(text));
    const terminal = await pty.create({ cols: 90, rows: 30, onData, envs: { GREETING: "ahoj" } });

    await type("stty size; echo $GREETING-$((40+2))\n");
    await shows("30 90");
    await shows("ahoj-42");
    await pty.resize(terminal.pid, { cols: 132, rows: 43 });
    await type("stty size\n");
    await shows("43 132");
    await type("sleep 300\n");
    await eventually("sleep runs", async () => (await commands.run("pgrep -x sleep || true")).stdout !== "");
    await type("\x03");
    await type("echo after-$?\n");
    await shows("after-130");
    assert.ok((await commands.list()).some(({ pid }) => pid === terminal.pid));
    assert.equal(await pty.kill(terminal.pid), true);
    await eventually("the terminal is gone", async () => !(await commands.list()).some(({ pid }) => pid === terminal.pid));
    assert.equal(await pty.kill(terminal.pid), false);
  });
}
