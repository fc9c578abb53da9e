import { Sandbox } from "@boxyard/sdk";

await using sandbox = await Sandbox.create();

await sandbox.files.write("site/index.html", "<h1>hello from a sandbox</h1>\n");
await using _server = await sandbox.commands.run("cd site && exec python3 -m http.server 8000", { background: true });

// The port has a host name of its own. While nothing listens yet, the proxy answers 502.
const url = sandbox.getUrl(8000);
let response = await fetch(url);
for (let tries = 0; response.status === 502 && tries < 100; tries++) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  response = await fetch(url);
}
console.log(response.status, (await response.text()).trim());
