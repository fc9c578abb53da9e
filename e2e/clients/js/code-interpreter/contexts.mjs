import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

function resolvers() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Contexts, languages, environment variables. */
export default async function (client) {
  const envs = { FROM_SANDBOX: "s", OVER: "s" };
  await withSandbox(
    client,
    async (sandbox) => {
      const kinds = async () => (await sandbox.listCodeContexts()).map(({ language, cwd }) => `${language} ${cwd}`).sort();
      assert.deepEqual(await kinds(), ["javascript /home/user", "python /home/user"]);

      await sandbox.runCode("x = 'default'");
      const own = await sandbox.createCodeContext({ cwd: "/tmp" });
      assert.deepEqual([own.language, own.cwd], ["python", "/tmp"]);
      const inOwn = (code) => sandbox.runCode(code, { context: own });
      assert.equal((await inOwn("x")).error.name, "NameError");
      assert.equal((await inOwn("import os; x = 'own'; os.getcwd()")).text, "/tmp");
      // Cells of different contexts go on beside each other, those of one wait for one another.
      const order = [];
      const begun = resolvers();
      const slow = sandbox
        .runCode("import time\nprint('begun', flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)", {
          context: own,
          onStdout: begun.resolve,
        })
        .then(() => order.push("slow"));
      await begun.promise;
      const next = inOwn("x += '!'").then(() => order.push("next"));
      assert.equal((await sandbox.runCode("open('/tmp/go', 'w').close(); x")).text, "default");
      await Promise.all([slow, next]);
      assert.deepEqual(order, ["slow", "next"]);
      assert.equal((await inOwn("x")).text, "own!");
      await sandbox.restartCodeContext(own);
      assert.equal((await inOwn("x")).error.name, "NameError");
      await sandbox.removeCodeContext(own);
      await assert.rejects(inOwn("1"), { message: `Context ${own.id} not found` });
      assert.deepEqual(await kinds(), ["javascript /home/user", "python /home/user"]);
      const atRoot = await sandbox.createCodeContext({ cwd: "/root" });
      const where = await sandbox.runCode("import os; open('made', 'w').close(); os.getcwd()", { context: atRoot });
      assert.deepEqual([atRoot.cwd, where.text, where.error], ["/root", "/root", undefined]);
      await sandbox.removeCodeContext(atRoot);
      await sandbox.commands.run("mkdir -m 700 /closed", { user: "root" });
      for (const cwd of ["/no/where", "/closed"]) await assert.rejects(sandbox.createCodeContext({ cwd }), /400/);
      await assert.rejects(sandbox.runCode("1", { language: "cobol" }), /400/);

      const env = (name, options) => sandbox.runCode(`import os; os.environ.get('${name}', '-')`, options).then(({ text }) => text);
      assert.deepEqual([await env("FROM_SANDBOX"), await env("OVER")], ["s", "s"]);
      assert.equal(await env("OVER", { envs: { OVER: 'cell\'s "own"\n', NEW: "n" } }), 'cell\\\'s "own"\\n');
      assert.deepEqual([await env("OVER"), await env("NEW")], ["s", "-"]);

      const js = (code, options) => sandbox.runCode(code, { language: "js", ...options });
      assert.equal((await js("const message: string = process.env.OVER; console.log(message); 1 + 1")).logs.stdout.join(""), "s\n");
      assert.equal((await js("message")).text, "s");
      assert.equal((await js("process.env.NEW", { envs: { NEW: "n" } })).text, "n");
      assert.equal((await js("typeof process.env.NEW")).text, "undefined");
      assert.equal((await js("await Promise.resolve(7)")).text, "7");
      assert.equal((await js('import { join } from "node:path"; join("a", require("node:os").EOL.length.toString())')).text, "a/1");
      const wrong = await js('console.error("e"); throw new TypeError("bad")');
      assert.deepEqual([wrong.error.name, wrong.error.value, wrong.logs.stderr], ["TypeError", "bad", ["e\n"]]);
      // TypeScript is the same kernel.
      assert.equal((await sandbox.runCode("enum E { A = 3 }; message + E.A", { language: "ts" })).text, "s3");
      for (let i = 0; i < 30; i++) assert.equal((await js(`${i}`)).text, `${i}`);

      const bash = (code, options) => sandbox.runCode(code, { language: "bash", ...options });
      assert.equal((await bash('V=1; echo "$V $OVER"; pwd')).logs.stdout.join(""), "1 s\n/home/user\n");
      assert.equal((await bash('echo "$V $OVER"', { envs: { OVER: "it's" } })).logs.stdout.join(""), "1 it's\n");
      assert.equal((await bash("echo $OVER; false")).logs.stdout.join(""), "s\n");
      assert.equal((await bash("(exit 3)")).error.value, "3");
    },
    { envs },
  );
}
