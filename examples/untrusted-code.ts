import { CommandExitError, Sandbox, TimeoutError } from "@boxyard/sdk";

const programs = {
  fine: "print(sum(range(100)))",
  wrong: "print(1 / 0)",
  endless: "while True: pass",
  greedy: "x = bytearray(8 << 30)",
};

// No way out, and a lifetime after which it ends even if this program is gone.
await using sandbox = await Sandbox.create({ allowInternetAccess: false, timeoutMs: 60_000 });

for (const [name, code] of Object.entries(programs)) {
  await sandbox.files.write("program.py", code);
  try {
    const { stdout } = await sandbox.commands.run("python3 program.py", { timeoutMs: 2_000 });
    console.log(`${name}: ${stdout.trim()}`);
  } catch (error) {
    if (error instanceof TimeoutError) console.log(`${name}: took too long`);
    else if (error instanceof CommandExitError) console.log(`${name}: ${error.stderr.trim().split("\n").at(-1) || error.error}`);
    else throw error;
  }
}
