import { Sandbox } from "@boxyard/sdk";

const inputs = [3, 14, 15, 92, 65, 35];

// One sandbox for each input; none can disturb another.
const results = await Promise.all(
  inputs.map(async (input) => {
    await using sandbox = await Sandbox.create({ metadata: { example: "many-at-once" } });
    const { stdout } = await sandbox.commands.run(`factor ${input}`);
    return stdout.trim();
  }),
);
console.log(results.join("\n"));
