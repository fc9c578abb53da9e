import { Sandbox } from "@boxyard/sdk";
import { Template, waitForPort } from "@boxyard/sdk/template";

// Every sandbox of this template has the page, and a server that runs from its first moment.
const template = Template.fromBaseImage()
  .run("echo '<h1>from a template</h1>' > /home/user/index.html")
  .env({ GREETING: "hello" })
  .setStartCmd("python3 -m http.server 8000 --directory /home/user", waitForPort(8000));

await template.build("example-template", { onLog: ({ message }) => console.error(message) });

{
  await using sandbox = await Sandbox.create("example-template");
  const { stdout } = await sandbox.commands.run("echo $GREETING; curl -s http://localhost:8000/");
  console.log(stdout.trim());
}

// A Dockerfile of one stage does as well: Template.fromDockerfile(await Bun.file("Dockerfile").text())
await Template.delete("example-template");
