import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chooseNetwork } from "./choose.ts";
import { claimRange, freeRange } from "./claims.ts";

let directory: string;
let runDirectory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-claims-"));
  runDirectory = join(directory, "run");
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Data directories that exist. */
function dataDirs(count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const path = join(directory, `data-${i}`);
    mkdirSync(path);
    return path;
  });
}
/** The ranges that others have claimed. */
async function othersOf(dataDir: string): Promise<readonly string[]> {
  let seen: readonly string[] = [];
  await claimRange(
    dataDir,
    (others) => {
      seen = others;
      return "10.0.0.0/16";
    },
    runDirectory,
  );
  return seen;
}

test("data directories that choose at the same moment, in one process and in several, choose different ranges", async () => {
  const [a = "", b = "", ...more] = dataDirs(6);
  const choose = (dataDir: string) => chooseNetwork({ instance: "0000000a", dataDir, runDirectory });
  const elsewhere = async (dataDir: string): Promise<string> => {
    const script = `const { chooseNetwork } = await import(${JSON.stringify(join(import.meta.dir, "choose.ts"))});
      console.log(await chooseNetwork(${JSON.stringify({ instance: "0000000a", dataDir, runDirectory })}));`;
    return (await new Response(Bun.spawn([process.execPath, "-e", script]).stdout).text()).trim();
  };
  const chosen = await Promise.all([elsewhere(a), elsewhere(b), ...more.map(choose)]);
  for (const network of chosen) expect(network).toMatch(/^[\d.]+\/16$/);
  expect(new Set(chosen).size).toBe(6);
}, 60_000);

test("a data directory has one claim, and chooses its own range again", async () => {
  const [a = "", b = ""] = dataDirs(2);
  const first = await chooseNetwork({ instance: "00000003", dataDir: a, runDirectory });
  expect(await chooseNetwork({ instance: "00000003", dataDir: a, runDirectory })).toBe(first);
  await claimRange(a, () => "10.77.0.0/16", runDirectory);
  expect(await othersOf(b)).toEqual(["10.77.0.0/16"]);
});

test("what the operator wants is not refused because of a claim", async () => {
  const [a = "", b = ""] = dataDirs(2);
  const wanted = await chooseNetwork({ instance: "00000003", dataDir: a, runDirectory });
  expect(await chooseNetwork({ instance: "00000003", dataDir: b, runDirectory, wanted })).toBe(wanted);
});

test("claims of directories that are gone have ended, and a damaged file claims nothing", async () => {
  const [a = "", b = ""] = dataDirs(2);
  await claimRange(a, () => "10.77.0.0/16", runDirectory);
  rmSync(a, { recursive: true });
  expect(await othersOf(b)).toEqual([]);
  expect(JSON.parse(readFileSync(join(runDirectory, "ranges.json"), "utf8"))).toEqual({ [b]: "10.0.0.0/16" });
  writeFileSync(join(runDirectory, "ranges.json"), '{"/data": 7, "cut');
  expect(await othersOf(b)).toEqual([]);
});

test("a choice that throws leaves the claims as they are, and others can claim", async () => {
  const [a = "", b = ""] = dataDirs(2);
  await claimRange(a, () => "10.77.0.0/16", runDirectory);
  const failed = claimRange(
    b,
    () => {
      throw new Error("no range is free");
    },
    runDirectory,
  );
  expect(await failed.catch((error: Error) => error.message)).toBe("no range is free");
  expect(await othersOf(b)).toEqual(["10.77.0.0/16"]);
});

test("only its owner reads the claims, and with the last claim nothing of them is left", async () => {
  const [a = "", b = ""] = dataDirs(2);
  await Promise.all([a, b].map((dataDir) => claimRange(dataDir, () => "10.77.0.0/16", runDirectory)));
  expect(readdirSync(runDirectory).sort()).toEqual(["ranges.json", "ranges.lock"]);
  expect(["", "/ranges.json", "/ranges.lock"].map((name) => statSync(runDirectory + name).mode & 0o777)).toEqual([0o700, 0o600, 0o600]);
  await freeRange(a, runDirectory);
  await freeRange(a, runDirectory);
  expect(existsSync(runDirectory)).toBe(true);
  await freeRange(b, runDirectory);
  expect(existsSync(runDirectory)).toBe(false);
  await freeRange(b, runDirectory);
  expect(existsSync(runDirectory)).toBe(false);
});

test("claims and frees at the same moment lose nothing", async () => {
  const all = dataDirs(8);
  const round = async (dataDir: string, i: number) => {
    for (let n = 0; n < 5; n++) {
      await claimRange(dataDir, () => `10.${i}.0.0/16`, runDirectory);
      await freeRange(dataDir, runDirectory);
    }
    await claimRange(dataDir, () => `10.${i}.0.0/16`, runDirectory);
  };
  await Promise.all(all.map(round));
  const claims = JSON.parse(readFileSync(join(runDirectory, "ranges.json"), "utf8"));
  expect(claims).toEqual(Object.fromEntries(all.map((dataDir, i) => [dataDir, `10.${i}.0.0/16`])));
}, 60_000);
