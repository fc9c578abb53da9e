import assert from "node:assert/strict";

export default async function ({ Sandbox }) {
  const sandboxes = await Promise.all(Array.from({ length: 8 }, () => Sandbox.create()));
  try {
    const names = await Promise.all(
      sandboxes.map(async (sandbox, index) => {
        await sandbox.files.write("/tmp/mine", `${index}`);
        return (await sandbox.commands.run("cat /tmp/mine")).stdout;
      }),
    );
    assert.deepEqual(names, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    const runs = await Promise.all(Array.from({ length: 40 }, (_, index) => sandboxes[0].commands.run(`echo ${index}`)));
    assert.deepEqual(
      runs.map(({ stdout }) => stdout),
      runs.map((_, index) => `${index}\n`),
    );
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  }
}
