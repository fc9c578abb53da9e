import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { Template, waitForFile } from "@boxyard/sdk/template";
import { eventually } from "@boxyard/testkit";
import * as e2b from "e2b";
import { usePlatform } from "../support/platform.ts";

/* Start and ready commands, from the first build to the first request. */

const platform = usePlatform();
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const unique = () => crypto.randomUUID().slice(0, 8);
// Time alone: a service that takes its time.
const SLOW_SERVICE = `: ${unique()}; sleep 1; exec python3 -m http.server 8123`;

/** Builds, and gives the log. */
async function build(name: string, template: Template): Promise<string> {
  const log: string[] = [];
  await template.build(name, { ...options(), onLog: ({ message }) => void log.push(message) });
  return log.join("\n");
}

const firstAnswer = async (sandbox: Sandbox) => (await fetch(`http://${sandbox.getHost(8123)}/`)).status;

test("a template that waits for a time: its sandboxes are there when their service is", async () => {
  const name = `ready-time-${unique()}`;
  const ready = e2b.waitForTimeout(4000).getCmd();
  expect(await build(name, Template.fromBaseImage().setStartCmd(SLOW_SERVICE, ready))).toContain(
    "Waiting for template to be ready: sleep 4",
  );
  await using sandbox = await Sandbox.create(name, options());
  expect(await firstAnswer(sandbox)).toBe(200);
  await Template.delete(name, options()).catch(() => {});
}, 120_000);

test("waiting for ports and URLs needs no program of the image, and the log has the ready command", async () => {
  const bare = Template.fromBaseImage().run("rm -f /bin/ss /usr/bin/ss /usr/bin/curl", { user: "root" }).user("user");
  const forms = [e2b.waitForPort(8123).getCmd(), e2b.waitForURL("http://localhost:8123/", 200).getCmd()];
  for (const [i, ready] of forms.entries()) {
    const name = `ready-bare-${i}-${unique()}`;
    const log = await build(name, bare.setStartCmd(SLOW_SERVICE, ready));
    expect(log).toContain(`Waiting for template to be ready: ${ready}\n`);
    await using sandbox = await Sandbox.create(name, options());
    expect(await firstAnswer(sandbox)).toBe(200);
  }
}, 120_000);

test("an inherited start command runs where and as whom it does in its own template", async () => {
  const [parent, child] = [`ready-parent-${unique()}`, `ready-child-${unique()}`];
  const start = "{ pwd; id -un; } > /srv/where; sleep 1000";
  const own = Template.fromBaseImage().user("root").workdir("/srv").setStartCmd(start, waitForFile("/srv/where"));
  await build(parent, own);
  await build(child, Template.fromTemplate(parent).run("rm -f /srv/where").user("user").workdir("/home/user"));
  await using sandbox = await Sandbox.create(child, options());
  const where = async () => (await sandbox.commands.run("cat /srv/where; pwd; id -un")).stdout;
  await eventually("the start command has run", async () => (await where()) === "/srv\nroot\n/home/user\nuser\n");
}, 120_000);
