import { Sandbox } from "@boxyard/sdk";

await using sandbox = await Sandbox.create();

// A Blob can be a file of any size: of `Bun.file`, of `openAsBlob` on Node, of an <input> in a page. It goes up in parallel parts.
const data = new Blob([new Uint8Array(50_000_000)]);
let shown = 0;
await sandbox.files.write("large.bin", data, {
  onProgress: ({ sentBytes, totalBytes = sentBytes }) => {
    const percent = Math.floor((sentBytes / totalBytes) * 100);
    if (percent < shown + 50) return;
    shown = percent - (percent % 50);
    console.log(`${shown} %`);
  },
});

const { stdout } = await sandbox.commands.run("stat -c %s large.bin; ls -A");
console.log(stdout.trim());
