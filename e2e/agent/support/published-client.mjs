// A program of npm e2b as a user would write it; prints what it saw as JSON.
import { Sandbox } from "e2b";

const result = {};
const sandbox = await Sandbox.create();
const text = (bytes) => new TextDecoder().decode(bytes);
const until = async (isDone) => {
  for (let i = 0; i < 200 && !isDone(); i++) await new Promise((resolve) => setTimeout(resolve, 25));
  return isDone();
};

const ran = await sandbox.commands.run("id -un; pwd; echo oops >&2");
result.run = { exitCode: ran.exitCode, stdout: ran.stdout, stderr: ran.stderr };
result.failed = await sandbox.commands.run("exit 7").catch((error) => [error.exitCode, error.message]);

const cat = await sandbox.commands.run("cat", { background: true, stdin: true });
await sandbox.commands.sendStdin(cat.pid, "typed\n");
await sandbox.commands.closeStdin(cat.pid);
result.withStdin = (await cat.wait()).stdout;

const sleeping = await sandbox.commands.run("sleep 300 && echo done", { background: true });
result.listed = (await sandbox.commands.list()).map((process) => process.args.at(-1));
const killed = await sandbox.commands.kill(sleeping.pid);
const ended = await sleeping.wait().catch((error) => error);
result.killed = [killed, ended.exitCode, ended.error, await sandbox.commands.kill(sleeping.pid)];
result.timedOut = await sandbox.commands.run("sleep 300", { timeoutMs: 300 }).catch((error) => error.name);

const background = await sandbox.commands.run("sleep 0.5; echo late", { background: true });
await background.disconnect();
result.reconnected = (await (await sandbox.commands.connect(background.pid)).wait()).stdout;

let screen = "";
const terminal = await sandbox.pty.create({
  cols: 80,
  rows: 24,
  onData: (data) => {
    screen += text(data);
  },
});
const type = (line) => sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode(line));
await type("echo $((6 * 7)) $(tput cols)\n");
result.terminal = await until(() => screen.includes("42 80"));
await sandbox.pty.resize(terminal.pid, { cols: 99, rows: 31 });
await type("stty size\n");
result.resized = await until(() => screen.includes("31 99"));
result.terminalKilled = await sandbox.pty.kill(terminal.pid);
await terminal.wait().catch(() => {});

const events = [];
const watch = await sandbox.files.watchDir("/home/user", (event) => {
  events.push(event.name);
});
await sandbox.files.write("file.txt", "héllo");
result.file = await sandbox.files.read("file.txt");
result.events = await until(() => events.includes("file.txt"));
await watch.stop();
result.isRunning = await sandbox.isRunning();

console.log(JSON.stringify(result));
process.exit();
