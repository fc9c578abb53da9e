import { Sandbox } from "@boxyard/sdk";

// The sandbox is removed at the end of the block, whatever happens in it.
await using sandbox = await Sandbox.create();

const { stdout } = await sandbox.commands.run("python3 -c 'print(6*7)'");
console.log(`the answer is ${stdout.trim()}`);
