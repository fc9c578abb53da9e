import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compareSnapshots, type Difference, isAbout, takeSnapshot } from "@boxyard/testkit";
import { testDataDirs } from "../config.ts";
import { makeBundles } from "../lib/bundles.ts";
import { allProcesses, processesWithMarker } from "../lib/processes.ts";
import { addTallies, bun, failedOne, passedOne, SERVER, type Suite, type SuiteContext, type Tally, tallyOf } from "../lib/suite.ts";

export const platform: Suite = {
  name: "platform",
  proves: "set-up prepares the test platform, a second set-up changes nothing, and the programs can be bundled",
  limitMs: 600_000,
  needs: ["needs"],
  run: async (context) => {
    const { command, config } = context;
    // Set-up waits for downloads and the disk most of the time, so the bundles cost no time beside it.
    const bundled = bundle(context);
    const first = tallyOf(await command([bun, SERVER, "setup"]));
    if (first.failed > 0) return first;
    const again = await command([bun, SERVER, "setup"]);
    const limitMs = 5_000;
    const quick = again.ms <= limitMs ? passedOne() : failedOne(`${again.output}\nthe second set-up took ${Math.round(again.ms)} ms`);
    const second = tallyOf(again).failed > 0 ? tallyOf(again) : quick;
    return addTallies([first, second, apiKeyFile(config.testDataDir), await bundled]);
  },
};

/** The test files of the run start the server and the command from here (testkit's `bundles.ts`). For a few files the bundles cost more than they save. */
async function bundle({ config: { env }, only, tier }: SuiteContext): Promise<Tally> {
  if (only.length > 0 || tier !== "all") return passedOne();
  if (!env.BOXYARD_TEST_BUNDLES) return failedOne("the run has no directory for the bundles");
  return makeBundles(env.BOXYARD_TEST_BUNDLES).then(
    () => passedOne(),
    (error: unknown) => failedOne(`the programs could not be bundled: ${error}`),
  );
}

/** The API key that set-up writes is complete. */
function apiKeyFile(dataDir: string): Tally {
  const key = existsSync(join(dataDir, "api-key")) ? readFileSync(join(dataDir, "api-key"), "utf8").trim() : "";
  return /^e2b_[0-9a-f]{40}$/.test(key)
    ? passedOne()
    : failedOne(`${dataDir}/api-key does not hold a key of the form e2b_ and 40 hex digits`);
}

export const release: Suite = {
  name: "release",
  proves: "release removes everything that the platform holds on the machine",
  limitMs: 120_000,
  always: true,
  run: async ({ command, config }) => {
    const tallies: Tally[] = [];
    for (const dataDir of testDataDirs(config).filter((path, lane) => lane === 0 || existsSync(path))) {
      tallies.push(tallyOf(await command([bun, SERVER, "release", "--sandboxes"], { env: { BOXYARD_DATA: dataDir } })));
    }
    return addTallies(tallies);
  },
};

export const leaks: Suite = {
  name: "leaks",
  proves: "the tests leave nothing behind: no mounts, loop devices, network links, nftables rules, cgroups, processes or device nodes",
  limitMs: 60_000,
  always: true,
  run: async ({ config, before, marker, say }) => {
    const dataDirs = testDataDirs(config);
    const ours = belongsToUs(dataDirs, marker);
    const found = await settle(() => compareSnapshots(before, takeSnapshot({ marker })));
    // Except on a CI machine, other people work on the machine too: a difference without a data directory or instance of this run is shown, but not
    // counted. Something that an earlier run left and this run removed is not counted either.
    const counted = found.filter((difference) => (ours(difference) ? difference.change !== "taken away" : config.ci));
    for (const other of found.filter((difference) => !ours(difference) && !config.ci)) say(`  ! not of this run: ${print(other)}`);
    for (const { pid } of processesWithMarker(marker)) endProcess(pid);
    const directories = dataDirs.flatMap(leftDirectories);
    if (counted.length + directories.length > 0) return failedOne([...counted.map(print), ...directories].join("\n"));
    return passedOne();
  },
};

/** Repeats `look` for some seconds until it finds nothing: the kernel releases some things later (namespaces, loop devices). */
async function settle(look: () => Difference[]): Promise<Difference[]> {
  const deadline = performance.now() + 5_000;
  let found = look();
  while (found.length > 0 && performance.now() < deadline) {
    await Bun.sleep(250);
    found = look();
  }
  return found;
}

function belongsToUs(dataDirs: readonly string[], marker: string): (difference: Difference) => boolean {
  const instances = dataDirs.flatMap(instanceOf);
  const marked = new Set(processesWithMarker(marker).map(({ pid }) => String(pid)));
  return ({ kind, what }) => {
    if (kind === "devices") return true;
    if (kind === "loops" && heldByOthers(what.split(":")[0] ?? "")) return false;
    if (kind === "processes" && marked.has(what.split(":")[0] ?? "")) return true;
    return dataDirs.some((dataDir) => isAbout(what, dataDir)) || instances.some((instance) => what.includes(instance));
  };
}

/** The instance of a data directory; none if set-up ended before it wrote one. */
function instanceOf(dataDir: string): string[] {
  try {
    return [(JSON.parse(readFileSync(join(dataDir, "instance.json"), "utf8")) as { instance: string }).instance];
  } catch {
    return [];
  }
}

/** Another program's mount namespace has a copy of every mount, and keeps a loop device of this run busy until the namespace ends. */
function heldByOthers(device: string): boolean {
  return allProcesses().some(({ pid }) => pid !== process.pid && mountsOf(pid).includes(`/dev/${device} `));
}

function mountsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, "utf8");
  } catch {
    return ""; // The process has ended.
  }
}

const print = ({ kind, change, what }: Difference): string => `${kind}: ${change}: ${what}`;

/** Directories of sandboxes that are still in the data directory. */
function leftDirectories(dataDir: string): string[] {
  return ["sandboxes", "run"].flatMap((name) => {
    const directory = join(dataDir, name);
    const left = existsSync(directory) ? readdirSync(directory) : [];
    return left.filter((entry) => /^i[a-z0-9]{20}$/.test(entry)).map((entry) => `files: left behind: ${directory}/${entry}`);
  });
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended.
  }
}
