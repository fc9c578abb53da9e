import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entriesOf, machineBuildSettings } from "./build-settings.ts";

const home = mkdtempSync(join(tmpdir(), "boxyard-build-settings-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("files of settings are read by section, quotes and comments aside", () => {
  const file = join(home, "pip.conf");
  writeFileSync(
    file,
    '[install]\nindex-url = no\n[global]\n# timeout = 1\nindex-url = http://mirror.example/simple\nretries="3"\nempty =\n',
  );
  expect(entriesOf(file, "global")).toEqual([
    ["index-url", "http://mirror.example/simple"],
    ["retries", "3"],
  ]);
  expect(entriesOf(join(home, "absent"))).toEqual([]);
});

test("builds are told of mirrors and proxies, but of no secret and of nothing that only this machine has", async () => {
  writeFileSync(join(home, ".npmrc"), "registry=http://mirror.example/npm\n//mirror.example/:_authToken=secret\ncafile=/etc/x\n");
  const env = {
    HOME: home,
    PIP_INDEX_URL: "http://mirror.example/simple",
    PIP_FIND_LINKS: "/opt",
    http_proxy: "http://127.0.0.1:1",
    PATH: "/usr/bin:/bin",
  };
  const settings = await machineBuildSettings("/run/here", { env });
  expect(settings.env).toMatchObject({ npm_config_registry: "http://mirror.example/npm", PIP_INDEX_URL: "http://mirror.example/simple" });
  const text = JSON.stringify(settings);
  for (const absent of ["secret", "/etc/x", "/opt", "127.0.0.1:1"]) expect(text).not.toContain(absent);
  const kept = settings.files["/etc/sudoers.d/zz-boxyard-build"] ?? "";
  for (const name of Object.keys(settings.env)) expect(kept).toContain(name);
});
