import { Sandbox } from "@boxyard/sdk";

// A program that leaves: it keeps only two ids.
async function leave(): Promise<{ sandboxId: string; pid: number }> {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { example: "come-back-later" } });
  const command = await sandbox.commands.run("sleep 1; echo done while nobody looked", { background: true });
  await command.disconnect();
  return { sandboxId: sandbox.sandboxId, pid: command.pid };
}

// Another one, later, perhaps elsewhere.
const { sandboxId, pid } = await leave();
await using sandbox = await Sandbox.connect(sandboxId);
const { endAt } = await sandbox.getInfo();
console.log(`it lives for ${Math.round((endAt.getTime() - Date.now()) / 60_000)} more minutes`);

const command = await sandbox.commands.connect(pid);
const { stdout } = await command.wait();
console.log(stdout.trim());
