// A user's program on a machine that resolves the wildcard's names: it has a key and a domain, nothing else.
import { Sandbox } from "e2b";
import WebSocket from "ws";

const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

const sandbox = await Sandbox.connect(process.env.SANDBOX);
// A front that holds output back would wait for the end of a command that waits for us.
let begun;
const first = new Promise((resolve) => {
  begun = resolve;
});
const command = await sandbox.commands.run("echo first; read line; echo $line", {
  background: true,
  stdin: true,
  onStdout: (text) => text.includes("first") && begun(),
});
await first;
await sandbox.commands.sendStdin(command.pid, "second\n");
say({ streamed: (await command.wait()).stdout });

const large = new Uint8Array(24 << 20).fill(7);
await sandbox.files.write("large", large.buffer);
const back = await sandbox.files.read("large", { format: "bytes" });
say({ uploaded: back.byteLength, same: back.every((byte) => byte === 7) });

await sandbox.files.write("/tmp/echo.js", process.env.ECHO_PROGRAM);
await sandbox.commands.run("node /tmp/echo.js", { background: true, timeoutMs: 0 });
const site = `https://${sandbox.getHost(8080)}`;
for (let status = 502; status === 502; ) status = (await fetch(site)).status;
const headers = await (await fetch(`${site}/headers`, { headers: { lang_version: "1" } })).json();
say({ host: headers.host === sandbox.getHost(8080), underscore: headers.lang_version });
const socket = new WebSocket(site.replace("https", "wss"));
await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
const echoed = new Promise((resolve) => socket.once("message", (data) => resolve(String(data))));
socket.send("ahoj");
say({ echoed: await echoed });
socket.close();
process.exit(0);
