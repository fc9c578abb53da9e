import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entriesOf, machineBuildSettings } from "./build-settings.ts";

const home = mkdtempSync(join(tmpdir(), "boxyard-build-settings-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("files of settings are read by section, without quotes and comments", () => {
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

test("builds get mirrors and proxies, but no secrets and no paths or proxies that only this machine can reach", async () => {
  writeFileSync(join(home, ".npmrc"), "registry=http://mirror.example/npm\n//mirror.example/:_authToken=npm-token\ncafile=/etc/x\n");
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
  for (const absent of ["npm-token", "/etc/x", "/opt", "127.0.0.1:1"]) expect(text).not.toContain(absent);
  const kept = settings.files["/etc/sudoers.d/zz-boxyard-build"] ?? "";
  for (const name of Object.keys(settings.env)) expect(kept).toContain(name);
});

test("a password in an address is in no environment: pip and npm read it from a file, a step can request a proxy's address as a secret", async () => {
  writeFileSync(join(home, ".npmrc"), "registry=http://me:npm%40pw@mirror.example/npm\nnoproxy=a.example\n");
  const env = {
    HOME: home,
    HTTPS_PROXY: "http://me:proxypw@proxy.example:3128",
    http_proxy: "me:barepw@proxy.example:3128",
    NO_PROXY: "a.example,b.example",
    PIP_INDEX_URL: "https://me:pippw@mirror.example/simple",
    PIP_EXTRA_INDEX_URL: "https://a.example/x  https://token@b.example/y",
    PIP_TIMEOUT: "7",
    PATH: "/usr/bin:/bin",
  };
  const settings = await machineBuildSettings("/run/here", { env });
  expect(settings.env).toMatchObject({
    HTTPS_PROXY: "http://proxy.example:3128",
    http_proxy: "proxy.example:3128",
    NO_PROXY: "a.example,b.example",
    PIP_TIMEOUT: "7",
    PIP_CONFIG_FILE: "/run/here/pip.conf",
    npm_config_globalconfig: "/run/here/npmrc",
    npm_config_noproxy: "a.example",
  });
  for (const absent of ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "npm_config_registry"]) expect(settings.env).not.toHaveProperty(absent);
  expect(settings.files["/run/here/pip.conf"]).toBe(
    "[global]\nindex-url=https://me:pippw@mirror.example/simple\nextra-index-url=https://a.example/x https://token@b.example/y\n",
  );
  expect(settings.files["/run/here/npmrc"]).toBe("registry=http://me:npm%40pw@mirror.example/npm\n");
  expect(settings.secrets).toMatchObject({ HTTPS_PROXY: env.HTTPS_PROXY, http_proxy: env.http_proxy });
  for (const password of ["proxypw", "barepw", "pippw", "token", "npm%40pw", "npm@pw"]) {
    expect(settings.passwords).toContain(password);
    expect(JSON.stringify(settings.env)).not.toContain(password);
  }
});
