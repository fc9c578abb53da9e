import { expect, test } from "bun:test";
import { readConfig } from "../config.ts";
import { listenForInterrupt } from "../interrupt.ts";
import { Output } from "../output/output.ts";
import { buildProgram } from "../program.ts";
import { complete, type Kind } from "./candidates.ts";

const context = {
  config: readConfig({}),
  output: new Output(false),
  signal: new AbortController().signal,
  interrupt: listenForInterrupt(() => {}),
  exitCode: 0,
};
const THERE: Record<Kind, string[]> = {
  sandbox: ["iaaa", "ibbb"],
  template: ["base", "mine:v2"],
  snapshot: ["snap"],
  volume: ["vol"],
  key: ["k1"],
  team: ["research"],
  secret: ["password"],
  webhook: ["w1"],
};

async function after(...words: string[]): Promise<string[]> {
  const look = async (kind: Kind) => THERE[kind].map((word) => ({ word, summary: `a ${kind}` }));
  const { candidates, files } = await complete(await buildProgram(words, context), words, look);
  return [...candidates.map(({ word }) => word), ...(files ? [":files"] : [])];
}

test("commands and subcommands, by what is typed of them", async () => {
  expect(await after("s")).toEqual(["shell", "sandbox", "snapshot", "secret", "service", "setup"]);
  expect(await after("")).not.toContain("__complete");
  expect(await after("sandbox", "")).toEqual(expect.arrayContaining(["create", "list", "info", "kill", "pause", "resume", "fork", "logs"]));
  expect(await after("sandbox", "li")).toEqual(["list"]);
  expect(await after("nothing", "")).toEqual([]);
});

test("options of the command, and their values", async () => {
  expect(await after("sandbox", "list", "--st")).toEqual(["--state"]);
  expect(await after("sandbox", "list", "--state", "")).toEqual(["running", "paused"]);
  expect(await after("run", "-t", "")).toEqual(["base", "mine:v2"]);
  expect(await after("run", "-t", "mine", ":", "v")).toEqual(["mine:v2"]);
  expect(await after("run", "--user", "")).toEqual([]);
  expect(await after("sandbox", "ls", "--he")).toEqual(["--help"]);
  expect(await after("template", "build", "x", "--file", "")).toEqual([":files"]);
});

test("ids and names where they belong, and only there", async () => {
  expect(await after("exec", "")).toEqual(["iaaa", "ibbb"]);
  expect(await after("exec", "--user", "root", "ib")).toEqual(["ibbb"]);
  expect(await after("exec", "iaaa", "")).toEqual([":files"]);
  expect(await after("exec", "iaaa", "--", "ls", "-")).toEqual([":files"]);
  expect(await after("sandbox", "kill", "iaaa", "")).toEqual(["iaaa", "ibbb"]);
  expect(await after("sandbox", "info", "iaaa", "")).toEqual([]);
  expect(await after("shell", "")).toEqual(["iaaa", "ibbb"]);
  expect(await after("shell", "iaaa", "--attach", "--k")).toEqual(["--keep"]);
  expect(await after("template", "info", "")).toEqual(["base", "mine:v2"]);
  expect(await after("snapshot", "delete", "")).toEqual(["snap"]);
  expect(await after("volume", "info", "")).toEqual(["vol"]);
  expect(await after("volume", "clone", "vol", "")).toEqual([]);
  expect(await after("run", "--volume", "")).toEqual([]);
  expect(await after("key", "revoke", "")).toEqual(["k1"]);
  expect(await after("completion", "")).toEqual(["bash", "zsh", "fish"]);
});

test("cp: a local file, or a place in a sandbox", async () => {
  expect(await after("cp", "")).toEqual(["iaaa:", "ibbb:", ":files"]);
  expect(await after("cp", "f", "ib")).toEqual(["ibbb:", ":files"]);
  // bash splits at colons; what is in the sandbox is not known here.
  expect(await after("cp", "iaaa", ":", "/et")).toEqual([]);
  expect(await after("cp", "iaaa:", "")).toEqual(["iaaa:", "ibbb:", ":files"]);
  expect(await after("volume", "cp", "")).toEqual(["vol:", ":files"]);
});
