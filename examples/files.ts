import { Sandbox } from "@boxyard/sdk";

await using sandbox = await Sandbox.create();

// Every change below the directory is seen once the watch has begun.
const seen: string[] = [];
await sandbox.files.makeDir("data");
await using _watch = await sandbox.files.watchDir("data", ({ type, name }) => void seen.push(`${type} ${name}`));

await sandbox.files.write([
  { path: "data/1.txt", data: "one\n" },
  { path: "data/2.txt", data: new TextEncoder().encode("two\n") },
]);
await sandbox.commands.run("echo three > data/3.txt");

for (const entry of await sandbox.files.list("data")) console.log(`${entry.permissions} ${entry.size} ${entry.name}`);

// Joins without copying the data; the parts are gone afterwards.
await sandbox.files.compose(["data/1.txt", "data/2.txt", "data/3.txt"], "data/all.txt");
console.log(JSON.stringify(await sandbox.files.read("data/all.txt")));

// Everybody who has the link can read this one file, for a minute.
const link = await sandbox.files.exists("data/all.txt").then(() => sandbox.downloadUrl("data/all.txt", { expiresInSeconds: 60 }));
console.log(`the link gives ${(await (await fetch(link)).text()).length} bytes`);

console.log(seen.includes("create 1.txt") ? "the watch saw 1.txt come" : `the watch saw ${seen.join(", ")}`);
