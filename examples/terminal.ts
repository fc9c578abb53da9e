import { CommandExitError, Sandbox } from "@boxyard/sdk";

await using sandbox = await Sandbox.create();

const decoder = new TextDecoder();
let screen = "";
const terminal = await sandbox.pty.create({
  cols: 80,
  rows: 24,
  onData: (data) => {
    screen += decoder.decode(data, { stream: true });
  },
});

await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 40 });
await terminal.sendStdin("stty size\n");
await terminal.sendStdin("exit 3\n");

try {
  await terminal.wait();
} catch (error) {
  if (!(error instanceof CommandExitError)) throw error;
  console.log(`the shell ended with ${error.exitCode}`);
}
console.log(screen.includes("40 100") ? "it saw a window of 40 rows and 100 columns" : screen);
