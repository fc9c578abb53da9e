import type { CommandHandle, Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";

/** Nobody waits for the end of the programs. */
const NO_LIMIT = 0;

/** Runs `work` while a program in Python runs in a sandbox, from when it has said `attacks`. */
export async function beside(attacker: Sandbox, program: string, work: () => Promise<void>): Promise<void> {
  await attacker.files.write("/tmp/attack.py", program);
  const command: CommandHandle = await attacker.commands.run("exec python3 /tmp/attack.py", {
    user: "root",
    background: true,
    timeoutMs: NO_LIMIT,
  });
  try {
    await eventually("the attack has begun", () => command.stdout.includes("attacks"));
    await work();
    if (command.exitCode !== undefined) throw new Error(`the attack ended: ${command.stderr}`);
  } finally {
    await command.kill();
  }
}
