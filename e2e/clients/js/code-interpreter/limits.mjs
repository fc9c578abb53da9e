import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

/** Time limits, clients that leave, large outputs, and the restart of dead kernels and of a dead service. */
export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    const text = async (code, options) => (await sandbox.runCode(code, options)).text;
    await sandbox.runCode("import time; kept = 1");
    // A client that gives up interrupts its cell: the next cell does not wait for it, and the variables are kept.
    for (const language of ["python", "js"]) {
      const endless = language === "js" ? "while (true) {}" : "while True: time.sleep(0.1)";
      await assert.rejects(sandbox.runCode(endless, { timeoutMs: 700, language }), client.TimeoutError);
    }
    assert.equal(await text("kept", { timeoutMs: 10_000 }), "1");
    assert.equal(await text("40 + 2", { timeoutMs: 10_000, language: "js" }), "42");
    // A cell that takes longer than a keepalive's distance.
    assert.equal(await text("time.sleep(6); 'slept'"), "slept");

    const many = await sandbox.runCode("for i in range(3000): display(i)\nprint('x' * 3_000_000)");
    assert.deepEqual([many.results.length, many.results.at(-1).text, many.logs.stdout.join("").length], [3000, "2999", 3_000_001]);
    assert.equal((await text("'y' * 2_000_000")).length, 2_000_000);

    const died = await sandbox.runCode("import os; os.kill(os.getpid(), 9)");
    assert.equal(died.error.name, "KernelDied");
    assert.equal((await sandbox.runCode("kept")).error.name, "NameError");
    assert.equal(await text("1"), "1");
    const exited = await sandbox.runCode("import os; os._exit(0)", { language: "python" });
    assert.equal(exited.error.name, "KernelDied");

    // The service itself: its supervisor brings it back, and no kernel of the old one stays.
    await sandbox.runCode("old = 1");
    const kernels = "pgrep -fc '[p]ython_kernel' || true";
    assert.equal((await sandbox.commands.run(kernels)).stdout, "1\n");
    await sandbox.commands.run("pkill -9 -fx 'python3 -m boxyard_cod[e]'");
    const back = async () => (await sandbox.runCode("'old' in globals()").catch(() => ({ text: undefined }))).text === "False";
    await eventually("the service is back", back, 20_000);
    await eventually("its old kernels are gone", async () => (await sandbox.commands.run(kernels)).stdout === "1\n");
  });
}
