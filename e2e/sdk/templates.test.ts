import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiKeys, AuthenticationError, Sandbox } from "@boxyard/sdk";
import { type BuildError, type BuildLogEntry, Template, type UploadState, waitForFile, waitForPort } from "@boxyard/sdk/template";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const context = mkdtempSync(join(tmpdir(), "boxyard-e2e-template-"));
const NAME = "sdk-e2e";

beforeAll(() => {
  mkdirSync(join(context, "app/sub"), { recursive: true });
  writeFileSync(join(context, "app/main.sh"), "#!/bin/sh\necho main\n", { mode: 0o755 });
  writeFileSync(join(context, "app/sub/ignored.log"), "x");
  symlinkSync("main.sh", join(context, "app/link"));
  writeFileSync(join(context, ".dockerignore"), "**/*.log\n");
});
afterAll(() => rmSync(context, { recursive: true }));

/** Builds, and tells what was logged and uploaded. */
async function build(template: Template, name = NAME, more: object = {}) {
  const logs: BuildLogEntry[] = [];
  const uploads: UploadState["state"][] = [];
  const onLog = (entry: BuildLogEntry) => void logs.push(entry);
  const built = await template.build(name, { ...options(), onLog, onUpload: ({ state }) => void uploads.push(state), ...more });
  return { built, logs, uploads };
}

test("what the builder says is what sandboxes have", async () => {
  // Different at each run, so that nothing is cached of an earlier one.
  const template = Template.fromBaseImage({ context })
    .env({ RUN: crypto.randomUUID() })
    .copy("app", "/srv/app", { user: "root" })
    .env({ ONE: "1", TWO: "two words" })
    .workdir("/srv/app")
    .run("id -un > /tmp/who")
    .run("id -un > /tmp/root", { user: "root" })
    .setStartCmd("python3 -m http.server 8000", waitForPort(8000));
  const first = await build(template, NAME, { skipCache: true });
  expect(first.uploads).toEqual(["packing", "uploading", "uploaded"]);
  expect(first.logs.length).toBeGreaterThan(6);
  {
    await using sandbox = await Sandbox.create(NAME, options());
    const { stdout } = await sandbox.commands.run(
      'pwd; echo "$ONE $TWO"; cat /tmp/who /tmp/root; ./link; ls sub; curl -s localhost:8000/main.sh | head -1',
    );
    expect(stdout).toBe("/srv/app\n1 two words\nuser\nroot\nmain\n#!/bin/sh\n");
  }
  const again = await build(template);
  expect(again.uploads).toEqual(["cached"]);
}, 60_000);

test("a Dockerfile", async () => {
  const text = `FROM boxyard/base
ARG V=1
ENV GREETING="hello $V"
RUN <<EOF
set -e
echo "from a script" > /etc/script
EOF
COPY --chmod=700 --chown=user app/main.sh /opt/
CMD ["touch", "/tmp/started it"]
`;
  const name = `${NAME}-docker`;
  const template = Template.fromDockerfile(text, { context, args: { V: "2" } }).setReadyCmd(waitForFile("/tmp/started it"));
  await build(template, name);
  {
    await using sandbox = await Sandbox.create(name, options());
    const { stdout } = await sandbox.commands.run("echo $GREETING; cat /etc/script; stat -c '%a %U' /opt/main.sh; id -un; pwd");
    expect(stdout).toBe("hello 2\nfrom a script\n700 user\nuser\n/home/user\n");
    await expect(Template.delete(name, options())).rejects.toMatchObject({ status: 400 });
  }
  expect([await Template.delete(name, options()), await Template.delete(name, options())]).toEqual([true, false]);
}, 60_000);

test("a step that fails names itself, and the line that asked for it", async () => {
  const template = Template.fromBaseImage().run("true").run("echo why >&2; exit 3");
  const error: BuildError = await build(template, `${NAME}-fails`).then(
    () => expect.unreachable(),
    (cause) => cause,
  );
  expect([error.name, error.step]).toEqual(["BuildError", "2"]);
  const line =
    readFileSync(import.meta.path, "utf8")
      .split("\n")
      .findIndex((text) => text.includes("why >&2; exit 3")) + 1;
  expect(error.at).toMatchObject({ file: import.meta.path, line });
  expect(error.stack?.split("\n")[1]).toContain(`${import.meta.path}:${line}:`);
  await Template.delete(`${NAME}-fails`, options());
}, 30_000);

test("a full name, with namespace and tag, means the same wherever a template is named", async () => {
  const full = `default/${NAME}-full`;
  const { built } = await build(Template.fromBaseImage().run("echo full > /tmp/named"), `${full}:v1`);
  expect([built.names, built.tags]).toEqual([[full], ["v1"]]);
  await Template.assignTags(`${full}:v1`, ["default", "v2"], options());
  await Template.removeTags(full, "v2", options());
  expect((await Template.getTags(full, options())).map(({ tag }) => tag).sort()).toEqual(["default", "v1"]);
  expect([await Template.exists(full, options()), (await Template.getInfo(full, options())).names]).toEqual([true, [full]]);
  const child = Template.fromTemplate(`${full}:v1`).copyFrom(`${full}:v1`, "/tmp/named", "/copied", { user: "root" });
  await build(child.copyFrom(Template.fromTemplate(full).run("echo stage > /tmp/made"), "/tmp/made", "/made"), `${NAME}-child`);
  {
    await using sandbox = await Sandbox.create(`default/${NAME}-child:default`, options());
    expect((await sandbox.commands.run("cat /tmp/named /copied /made")).stdout).toBe("full\nfull\nstage\n");
    const listed: string[] = [];
    for await (const { templateId } of Sandbox.list({ ...options() })) listed.push(templateId);
    expect(listed).toContain((await Template.getInfo(`default/${NAME}-child`, options())).templateId);
  }
  // It would be the whole template that went, not the tag.
  await expect(Template.delete(`${full}:v1`, options())).rejects.toMatchObject({ status: 400 });
  await expect(Template.getInfo(`other/${NAME}-full`, options())).rejects.toMatchObject({ status: 404 });
  for (const name of [`default/${NAME}-child`, full]) expect(await Template.delete(name, options())).toBe(true);
}, 60_000);

test("builds on snapshots of sandboxes of builds keep every generation's files, beyond the layers that a sandbox can stand on", async () => {
  const root = { user: "root" } as const;
  const snapshots: string[] = [];
  const names: string[] = [];
  const expected: string[] = [];
  try {
    for (let generation = 1; generation <= 4; generation++) {
      const parent = snapshots.at(-1);
      let template = parent === undefined ? Template.fromBaseImage() : Template.fromTemplate(parent);
      for (let step = 1; step <= 5; step++) {
        // Each step takes away what the step before it made, so that what a merged layer hides is seen too.
        const line = `b${generation}.${step}`;
        template = template.run(`echo ${line} >> /root/chain; rm -f /root/only-*; touch /root/only-${line}`, root);
        expected.push(line);
      }
      const name = `${NAME}-chain-${generation}`;
      names.push(name);
      await build(template, name);
      await using sandbox = await Sandbox.create(name, options());
      await sandbox.commands.run(`echo s${generation} >> /root/chain`, root);
      expected.push(`s${generation}`);
      snapshots.push((await sandbox.createSnapshot({ keepMemory: generation % 2 === 0 })).snapshotId);
    }
    await using last = await Sandbox.create(`${snapshots.at(-1)}`, options());
    expect((await last.commands.run("cat /root/chain; ls /root", root)).stdout.split("\n")).toEqual([
      ...expected,
      "chain",
      "only-b4.5",
      "",
    ]);
  } finally {
    for (const snapshot of snapshots.reverse()) await Sandbox.deleteSnapshot(snapshot, options());
    for (const name of names) await Template.delete(name, options());
  }
}, 120_000);

test("the log comes while a step runs, not after it", async () => {
  const seen: string[] = [];
  const endless = Template.fromBaseImage().run("echo early; sleep 1000");
  const controller = new AbortController();
  const onLog = ({ message }: BuildLogEntry) => {
    seen.push(message);
    if (message.endsWith("[stdout]: early")) controller.abort();
  };
  const building = endless.build(`${NAME}-live`, { ...options(), onLog, signal: controller.signal });
  await expect(building).rejects.toMatchObject({ name: "AbortError" });
  expect(seen.at(-1)).toBe("[builder 1/1] [stdout]: early");
  expect(await Template.delete(`${NAME}-live`, options())).toBe(true);
}, 60_000);

test("background, status, abort, tags, list, exists, delete", async () => {
  const slow = Template.fromBaseImage().run("sleep 30");
  const ref = await slow.buildInBackground(`${NAME}-slow`, options());
  expect((await Template.getBuildStatus(ref, options())).status).toBe("building");
  await Template.cancelBuild(ref, options());
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 300);
  await expect(build(slow, `${NAME}-slow`, { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
  for (const name of [NAME, `${NAME}-slow`]) expect(await Template.exists(name, options())).toBe(true);
  await Template.assignTags(NAME, ["v1", "stable"], options());
  await Template.removeTags(NAME, "v1", options());
  expect((await Template.getTags(NAME, options())).map(({ tag }) => tag).sort()).toEqual(["default", "stable"]);
  const names: string[] = [];
  for await (const info of Template.list({ ...options(), limit: 1 })) names.push(...info.names);
  expect(names).toContain(`default/${NAME}`);
  expect(await Template.getInfo(NAME, options())).toMatchObject({ buildStatus: "ready", buildCount: 2 });
  for (const name of [NAME, `${NAME}-slow`]) expect(await Template.delete(name, options())).toBe(true);
  expect(await Template.exists(NAME, options())).toBe(false);
}, 60_000);

test("API keys: a new one works until it is revoked", async () => {
  const created = await ApiKeys.create("e2e", options());
  const theirs = { apiUrl: platform().apiUrl, apiKey: created.key };
  expect((await ApiKeys.list(theirs)).map(({ name }) => name)).toContain("e2e");
  expect(await ApiKeys.revoke(created.id, options())).toBe(true);
  await expect(ApiKeys.list(theirs)).rejects.toBeInstanceOf(AuthenticationError);
});
