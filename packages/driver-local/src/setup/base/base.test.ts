import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatDeb822, ofRelease, parseDeb822, parseOneLine } from "./apt-sources.ts";
import { imageDigest } from "./image.ts";
import { buildSettings, machineSources, parseRelease } from "./machine.ts";
import { meaningfulLines, readRecipe, readSettings } from "./recipe.ts";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

test("one-line sources are parsed", () => {
  const text = `# deb http://old.example main
deb http://mirror.example/debian bookworm main contrib # ours
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://tool.example stable main
`;
  expect(parseOneLine(text)).toEqual([
    { uris: ["http://mirror.example/debian"], suites: ["bookworm"], components: ["main", "contrib"] },
    { uris: ["http://tool.example"], suites: ["stable"], components: ["main"], signedBy: "/k.gpg" },
  ]);
});

test("deb822 sources are parsed, without disabled ones and comments", () => {
  const text = `Types: deb deb-src
# URIs: http://no.example
URIs: http://a.example http://b.example
Suites: bookworm
 bookworm-updates
Components: main
Signed-By: ${KEYRING}

Types: deb
Enabled: no
URIs: http://c.example
Suites: bookworm
Components: main

Types: deb-src
URIs: http://d.example
Suites: bookworm
Components: main
`;
  expect(parseDeb822(text)).toEqual([
    {
      uris: ["http://a.example", "http://b.example"],
      suites: ["bookworm", "bookworm-updates"],
      components: ["main"],
      signedBy: KEYRING,
    },
  ]);
});

test("only the release's own archives stay", () => {
  const source = (suites: string[], components: string[], signedBy?: string) => ({
    uris: ["http://x.example"],
    suites,
    components,
    ...(signedBy && { signedBy }),
  });
  const kept = ofRelease(
    [
      source(["bookworm", "bookworm-updates", "bookworm-backports"], ["main", "non-free-firmware"], KEYRING),
      source(["bookworm-security"], ["main"]),
      source(["bookworm"], ["main"], "/etc/apt/keyrings/vendor.gpg"),
      source(["bookworm"], ["stable"]),
      source(["bookworm"], ["main", "vendor"]),
      source(["sid"], ["main"]),
    ],
    "bookworm",
  );
  expect(kept.map(({ suites }) => suites)).toEqual([["bookworm", "bookworm-updates"], ["bookworm-security"]]);
  expect(parseDeb822(formatDeb822(kept))).toEqual(kept);
});

test("a machine's files are read in apt's order, and files with other suffixes are ignored", () => {
  const apt = mkdtempSync(join(tmpdir(), "boxyard-apt-"));
  try {
    mkdirSync(`${apt}/sources.list.d`);
    writeFileSync(`${apt}/sources.list`, "deb http://one.example bookworm main\n");
    writeFileSync(`${apt}/sources.list.d/b.sources`, "Types: deb\nURIs: http://two.example\nSuites: bookworm-security\nComponents: main\n");
    writeFileSync(`${apt}/sources.list.d/c.list.disabled`, "deb http://three.example bookworm main\n");
    expect(machineSources("bookworm", apt).map(({ uris }) => uris[0])).toEqual(["http://one.example", "http://two.example"]);
    expect(() => machineSources("trixie", apt)).toThrow("no package source of 'trixie'");
  } finally {
    rmSync(apt, { recursive: true });
  }
});

test("Debian and Ubuntu are supported; the error for other systems names what to do", () => {
  expect(parseRelease('ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian"\n')).toEqual({ id: "debian", codename: "bookworm" });
  expect(parseRelease('ID=ubuntu\nVERSION_CODENAME="noble"\n')).toEqual({ id: "ubuntu", codename: "noble" });
  expect(() => parseRelease('ID=fedora\nPRETTY_NAME="Fedora Linux 42"\n')).toThrow("this is Fedora Linux 42");
});

test("only apt settings for reaching packages are used in builds", () => {
  const dump = `APT::Architecture "amd64";
Acquire::http::Proxy "http://10.0.0.1:3128";
Acquire::https::CaInfo "/etc/ssl/ca.crt";
Acquire::https::Verify-Peer "";
Acquire::http::Pipeline-Depth:: "1";
Acquire::Languages "none";
`;
  expect(buildSettings(dump)).toEqual(['Acquire::http::Proxy "http://10.0.0.1:3128"', 'Acquire::https::CaInfo "/etc/ssl/ca.crt"']);
});

test("the recipe names each package once, and its settings are complete", () => {
  const { packages, npmVersion, nodeVersion, hooks } = readRecipe();
  expect(new Set(packages).size).toBe(packages.length);
  for (const wanted of ["python3", "build-essential", "git", "ripgrep", "jq", "unzip", "less", "procps"])
    expect(packages).toContain(wanted);
  expect(Number(nodeVersion.split(".")[0])).toBeGreaterThanOrEqual(22);
  expect(npmVersion).toMatch(/^10\.\d+\.\d+$/);
  expect(hooks.map((hook) => hook.split("/").pop())).toEqual([
    "10-user",
    "15-node",
    "20-npm",
    "30-pip",
    "35-login",
    "40-vim",
    "80-open",
    "90-clean",
  ]);
  expect(readSettings()).toMatchObject({ name: "base", user: "user", workdir: "/home/user" });
  expect(meaningfulLines("# a\n\n b # c\nd\n")).toEqual(["b", "d"]);
});

test("an image's digest depends only on its layer and its settings", () => {
  const settings = readSettings();
  const facts = { layer: `sha256:${"a".repeat(64)}`, layerBytes: 10 };
  const digest = imageDigest(facts, settings);
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(imageDigest({ ...facts }, { ...settings })).toBe(digest);
  expect(imageDigest(facts, { ...settings, user: "root" })).not.toBe(digest);
  expect(imageDigest({ ...facts, layerBytes: 11 }, settings)).not.toBe(digest);
});
