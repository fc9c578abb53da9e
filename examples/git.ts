import { Sandbox } from "@boxyard/sdk";

await using sandbox = await Sandbox.create();
const { git, files } = sandbox;

await git.init("project");
await files.write("project/hello.py", "print('hello')\n");
await git.add("project");
await git.commit("project", "Say hello", { author: { name: "Agent", email: "agent@example.com" } });

// A copy to try something in. Of a server that asks who is there, username and password go along for this one call:
// git.clone("https://example.com/project.git", "copy", { username: "me", password: token })
await git.clone("/home/user/project", "copy");
await git.checkout("copy", "louder", { create: true });
await files.write("copy/hello.py", "print('HELLO')\n");

const { branch, files: changed } = await git.status("copy");
for (const { path, unstaged } of changed) console.log(`${branch}: ${path} is ${unstaged}`);
