import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ahead, OTHER_FAILED } from "./ahead.ts";
import { writeDone } from "./stamp.ts";
import type { Reporter, SetupConfig, Stage } from "./types.ts";

const dataDir = mkdtempSync(join(tmpdir(), "boxyard-ahead-"));
const config: SetupConfig = { dataDir, cacheDir: dataDir, env: {} };
afterAll(() => rmSync(dataDir, { recursive: true }));

/** Collects begins and ends of stages; an end with an error has its reason or message. */
function recorder(): Reporter & { readonly seen: string[] } {
  const seen: string[] = [];
  const begin: Reporter["begin"] = ({ name }) => {
    seen.push(`begin ${name}`);
    return { progress() {}, result() {} };
  };
  const end: Reporter["end"] = ({ name }, error) => void seen.push(`end ${name} ${(error as { reason?: string })?.reason ?? error}`);
  return { seen, begin, end, say() {} };
}

type Prepare = NonNullable<Stage["prepare"]>;
const stageOf = (name: string, prepare?: Prepare): Stage => ({
  ...{ name, title: name, key: () => "1", isDone: () => false, run: async () => {} },
  ...(prepare && { prepare }),
});
/** Ends only when it is told to, with the reason that it is told. */
const endless: Prepare = (_config, _report, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

test("stages that were never done are prepared, once, and those without anything to prepare are not begun", async () => {
  const reporter = recorder();
  const ran: string[] = [];
  const noted = (name: string) => stageOf(name, async () => void ran.push(name));
  writeDone(config, "mounted", "1");
  writeDone(config, "older", "0");
  const stages = [noted("new"), noted("mounted"), noted("older"), stageOf("plain")];
  {
    await using ahead = new Ahead(config, reporter);
    ahead.begin(stages);
    ahead.begin(stages);
    for (const stage of stages) await ahead.take(stage)?.prepared;
  }
  expect(ran).toEqual(["new", "older"]);
  expect(reporter.seen).toEqual(["begin new", "begin older"]);
});

test("the caller that takes a stage gets the error of its preparation", async () => {
  const stage = stageOf("x", () => Promise.reject(new Error("no network")));
  await using ahead = new Ahead(config, recorder());
  ahead.begin([stage]);
  await expect(ahead.take(stage)?.prepared).rejects.toThrow("no network");
});

test("when another stage fails, what nobody has taken is ended, waited for and reported as stopped, or with its own error", async () => {
  const reporter = recorder();
  let ended = 0;
  const slow = stageOf("slow", (...args) => endless(...args).finally(() => void ended++));
  const failing = stageOf("failing", () => Promise.reject(new Error("no network")));
  const ready = stageOf("ready", async () => {});
  {
    await using ahead = new Ahead(config, reporter);
    ahead.begin([slow, failing, ready]);
  }
  expect(ended).toBe(1);
  expect(reporter.seen.slice(3)).toEqual([`end slow ${OTHER_FAILED}`, "end failing Error: no network", `end ready ${OTHER_FAILED}`]);
});
