import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

/** A signal that aborts once `when` has come true. */
function abortedOnce(what, when) {
  const controller = new AbortController();
  eventually(what, when).then(
    () => controller.abort(),
    () => controller.abort(),
  );
  return controller.signal;
}

/** `signal` and `requestTimeoutMs`: what is under way ends for the caller, and changes nothing more. */
export default async function (client) {
  await withSandbox(client, async ({ commands, files, pty }) => {
    const isCancelled = (error) => error instanceof client.TimeoutError && /canceled/.test(error.message);
    const isAborted = (error) => error.name === "AbortError";

    let said = "";
    const signal = abortedOnce("the command has begun", () => said !== "");
    const onStdout = (text) => {
      said += text;
    };
    await assert.rejects(commands.run("echo begun; exec sleep 300", { signal, onStdout, timeoutMs: 0 }), isCancelled);
    // The command goes on: it was the request that was cancelled.
    const [left] = await commands.list();
    assert.equal(left.args.at(-1), "echo begun; exec sleep 300");
    assert.equal(await commands.kill(left.pid), true);

    const over = AbortSignal.abort();
    await assert.rejects(commands.list({ signal: over }), isCancelled);
    await assert.rejects(pty.create({ cols: 80, rows: 24, onData() {}, signal: over }), isCancelled);
    await assert.rejects(files.makeDir("never", { signal: over }), isCancelled);
    assert.equal(await files.exists("never"), false);

    // A request that is not sent does nothing to what runs.
    const deaf = await commands.run("sleep 300", { background: true, stdin: true });
    const terminal = await pty.create({ cols: 80, rows: 24, onData() {} });
    const late = { signal: over };
    const refused = [
      () => commands.connect(deaf.pid, late),
      () => commands.sendStdin(deaf.pid, "x", late),
      () => commands.closeStdin(deaf.pid, late),
      () => commands.kill(deaf.pid, late),
      () => pty.connect(terminal.pid, { onData() {}, ...late }),
      () => pty.sendInput(terminal.pid, new TextEncoder().encode("exit\n"), late),
      () => pty.resize(terminal.pid, { cols: 1, rows: 1 }, late),
      () => pty.kill(terminal.pid, late),
    ];
    for (const call of refused) await assert.rejects(call, isCancelled);
    assert.deepEqual((await commands.list()).map(({ pid }) => pid).toSorted(), [deaf.pid, terminal.pid].toSorted());
    assert.equal(await pty.kill(terminal.pid), true);

    // Input that the command does not take keeps the request waiting.
    const tooMuch = "x".repeat(1_000_000);
    await assert.rejects(commands.sendStdin(deaf.pid, tooMuch, { requestTimeoutMs: 300 }), client.TimeoutError);
    await assert.rejects(commands.sendStdin(deaf.pid, tooMuch, { signal: AbortSignal.timeout(300) }), client.TimeoutError);
    assert.equal(await deaf.kill(), true);

    // An upload that its sender gives up leaves nothing.
    const names = async () => (await files.list("/home/user")).map(({ name }) => name).join(" ");
    const before = await names();
    let sent = 0;
    const endless = new ReadableStream({
      async pull(controller) {
        controller.enqueue(new Uint8Array(65_536));
        sent += 65_536;
        await new Promise((resolve) => setTimeout(resolve, 2));
      },
    });
    const enough = abortedOnce("a megabyte is sent", () => sent > 1_000_000);
    await assert.rejects(files.write("big", endless, { signal: enough, useOctetStream: true }), isAborted);
    await eventually("nothing is left of the upload", async () => (await names()) === before);
    await assert.rejects(files.read("/etc/passwd", { signal: over }), isAborted);
  });
}
