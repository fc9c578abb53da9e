import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packageHosts } from "./package-hosts.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "boxyard-package-hosts-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, ...lines: string[]) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), `${lines.join("\n")}\n`);
};
const hosts = (env: Record<string, string> = {}) => packageHosts({ env: { HOME: join(root, "home"), ...env } }, join(root, "etc"));
/** Hosts of this machine's own /usr/etc/npmrc and the like, which have no place in `root`. */
const sure = (env?: Record<string, string>) => hosts(env).filter((host) => host.endsWith(".example") || /^\d/.test(host));

test("nothing set is no host", () => expect(sure()).toEqual([]));

test("each program's files are read", () => {
  write("etc/pip.conf", "[global]", "index-url = https://user:word@pip.example/simple", "timeout = 3");
  write("home/.config/pip/pip.conf", "[global]", "extra-index-url =", "    https://more.example/a", "    https://other.example/b", "# x");
  write("etc/npmrc", "registry=https://npm.example/", "//npm.example/:_authToken=secret");
  write("home/.npmrc", "@team:registry = http://scope.example/npm/", "noproxy=none.example");
  write("etc/apt/sources.list", "deb [signed-by=/x] https://apt.example/debian stable main", "#deb http://off.example/debian stable main");
  write("etc/apt/sources.list.d/a.sources", "Types: deb", "URIs: https://new.example/debian http://second.example/x", "Suites: stable");
  write("etc/apt/sources.list.d/b.sources", "Enabled: no", "Types: deb", "URIs: https://off.example/debian", "Suites: stable");
  write(
    "home/.cargo/config.toml",
    "[source.crates-io]",
    'replace-with = "m"',
    "[source.m]",
    'registry = "sparse+https://cargo.example/i/"',
  );
  write("home/.config/go/env", "GOPROXY=https://go.example|https://go2.example,direct", "GOSUMDB=sum.example+key https://sums.example");
  expect(sure()).toEqual(
    ["apt", "cargo", "go", "go2", "more", "new", "npm", "other", "pip", "scope", "second", "sums"].map((name) => `${name}.example`),
  );
});

test("variables come before files, and name other files", () => {
  write("home/.config/pip/pip.conf", "[install]", "index-url = https://old.example/simple");
  write("home/.npmrc", "registry=https://old.example/");
  write("home/.config/go/env", "GOPROXY=https://old.example");
  write("else/npmrc", "registry=https://$" + "{PLACE}.example/");
  write("else/pip.conf", "[global]", "extra_index_url=https://extra.example/simple");
  write("else/cargo/config.toml", "[registries.own]", "index = 'https://cargo.example/index'");
  const env = {
    PIP_INDEX_URL: "https://pip.example/simple",
    PIP_CONFIG_FILE: join(root, "else/pip.conf"),
    UV_INDEX: "own=https://uv.example/simple",
    NPM_CONFIG_USERCONFIG: join(root, "else/npmrc"),
    PLACE: "filled",
    "npm_config_@team:registry": "https://scope.example/",
    CARGO_HOME: join(root, "else/cargo"),
    CARGO_REGISTRIES_MORE_INDEX: "sparse+https://more.example/",
    GOPROXY: "https://go.example",
    GOSUMDB: "sum.example",
  };
  expect(sure(env)).toEqual(["cargo", "extra", "filled", "go", "more", "pip", "scope", "sum", "uv"].map((name) => `${name}.example`));
});

test("what no sandbox reaches is left out: other ports, closed networks, this machine, files", () => {
  const places = "https://a.example:8443/ http://127.0.0.1/ http://10.1.2.3/ http://localhost/ file:///x https://[::1]/ ftp://f.example/";
  expect(sure({ PIP_EXTRA_INDEX_URL: `${places} https://b.example:443/ http://198.51.100.7:8080/simple https://C.Example./x` })).toEqual([
    "198.51.100.7",
    "b.example",
    "c.example",
  ]);
});

test("a file that is no text, or has more hosts than there may be, is no error", () => {
  mkdirSync(join(root, "home/.npmrc"), { recursive: true });
  write("etc/pip.conf", "\0[", "=", "index-url", "[global]", "index-url=%%%");
  const many = Array.from({ length: 300 }, (_, i) => `https://h${i}.example/`).join(" ");
  expect(sure()).toEqual([]);
  expect(hosts({ PIP_EXTRA_INDEX_URL: many })).toHaveLength(64);
});
