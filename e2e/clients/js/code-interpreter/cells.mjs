import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

/** State from cell to cell, what a cell returns and writes, its errors, its count. */
export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    const first = await sandbox.runCode("x = 1");
    assert.deepEqual([first.text, first.results.length, first.error, first.executionCount], [undefined, 0, undefined, 1]);
    const second = await sandbox.runCode("x += 1\nx");
    assert.deepEqual([second.text, second.executionCount, second.results[0].isMainResult], ["2", 2, true]);
    assert.equal((await sandbox.runCode("'a' + 'b'")).text, "ab");

    const seen = { stdout: [], stderr: [], results: [], errors: [] };
    const talking = await sandbox.runCode(
      "import sys, time\nprint('one', flush=True)\ntime.sleep(0.4)\nprint('two', file=sys.stderr, flush=True)\ntime.sleep(0.4)\nprint('three')\n40 + 2",
      {
        onStdout: ({ line, timestamp, error }) => seen.stdout.push([line, error, timestamp]),
        onStderr: ({ line, error }) => seen.stderr.push([line, error]),
        onResult: ({ text }) => seen.results.push(text),
        onError: ({ name }) => seen.errors.push(name),
      },
    );
    assert.deepEqual(talking.logs, { stdout: ["one\n", "three\n"], stderr: ["two\n"] });
    assert.deepEqual(
      [seen.stdout.map(([line, error]) => [line, error]), seen.stderr],
      [
        [
          ["one\n", false],
          ["three\n", false],
        ],
        [["two\n", true]],
      ],
    );
    assert.deepEqual([seen.results, seen.errors], [["42"], []]);
    // This client takes its own time of arrival: the second line was not held back until the end.
    const [early, late] = seen.stdout.map(([, , timestamp]) => timestamp);
    assert.ok(late > early, `${early} ${late}`);

    const wrong = await sandbox.runCode("def f():\n    return 1 / 0\nprint('before')\nf()", {
      onError: ({ name }) => seen.errors.push(name),
    });
    assert.deepEqual([wrong.error.name, wrong.error.value, wrong.logs.stdout], ["ZeroDivisionError", "division by zero", ["before\n"]]);
    assert.match(wrong.error.traceback, /line 4[\s\S]*return 1 \/ 0/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what must not be there
    assert.doesNotMatch(wrong.error.traceback, /\x1b/);
    assert.deepEqual(seen.errors, ["ZeroDivisionError"]);
    assert.equal((await sandbox.runCode("def (")).error.name, "SyntaxError");
    assert.match((await sandbox.runCode("input('?')")).error.name, /StdinNotImplementedError/);
    assert.equal((await sandbox.runCode("x")).text, "2");
    assert.equal(
      (await sandbox.runCode("!echo from a shell; pwd")).logs.stdout.join("").replaceAll("\r", ""),
      "from a shell\n/home/user\n",
    );
    assert.equal((await sandbox.runCode("import asyncio\nawait asyncio.sleep(0, 'awaited')")).text, "awaited");
    assert.equal((await sandbox.runCode("")).error, undefined);
  });
}
