import { Sandbox } from "@boxyard/sdk";

await using sandbox = await Sandbox.create();

await sandbox.files.write("site/index.html", "<h1>hello from a sandbox</h1>\n");
await using _server = await sandbox.commands.run("cd site && exec python3 -m http.server 8000", { background: true });

// While nothing listens yet, the answer is 502. In a browser, `sandbox.getUrl(8000)` is the address of the same page.
let response = await sandbox.fetch(8000, "/");
for (let tries = 0; response.status === 502 && tries < 100; tries++) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  response = await sandbox.fetch(8000, "/");
}
console.log(response.status, (await response.text()).trim());
