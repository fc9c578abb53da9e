import { Sandbox } from "@boxyard/sdk";

await using sandbox = await Sandbox.create();

// Callbacks get text as it comes; one that returns a promise is waited for.
await sandbox.commands.run("for i in 1 2 3; do echo step $i; sleep 0.2; done", {
  onStdout: (text) => console.log(text.trimEnd()),
});

// A background command takes input while it runs, and gives raw bytes to a loop.
const squares = await sandbox.commands.run("while read line; do echo $((line * line)); done", { background: true, stdin: true });
await squares.sendStdin("7\n8\n");
await squares.closeStdin();
for await (const { stream, data } of squares) console.log(stream, new TextDecoder().decode(data).trim().split("\n"));
