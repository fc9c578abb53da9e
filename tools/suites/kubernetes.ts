import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { IMAGES } from "../executable/images.ts";
import { removeCgroups } from "../kubernetes/cluster.ts";
import { packImage } from "../kubernetes/image.ts";
import { buildPrograms, hasPrograms, type Run } from "../kubernetes/programs.ts";
import { makePauseTree, makeSmallTree } from "../kubernetes/trees.ts";
import { tallyReport, testFiles } from "../lib/bun-test.ts";
import { parseJunit } from "../lib/junit.ts";
import { bun, failedOne, type SuiteContext, type Tally } from "../lib/suite.ts";
import type { FileSuite } from "./tests.ts";

/** The digest of the small image in the specs of the tests. */
const SMALL = "5".repeat(64);
const LIMIT_MS = 2_400_000;
const BUILD_LIMIT_MS = 1_500_000;

/** What the programs of the cluster are made of, by Debian package; Go is the machine's. */
const PACKAGES = ["libseccomp-dev", "pkg-config", "gcc", "libc6-dev"];

const SKIPPED: Tally = {
  passed: 0,
  failed: 0,
  skipped: [
    { name: "kubernetes", reason: "the programs of a cluster are not in the cache; './boxyard test kubernetes' builds them (ten minutes)" },
  ],
  output: "",
};

export const kubernetes: FileSuite = {
  name: "kubernetes",
  proves: "sandboxes are pods of a real cluster, which the suite builds and starts itself",
  limitMs: LIMIT_MS,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["packages/*/src/**/*.kubernetes.test.ts", "e2e/**/*.kubernetes.test.ts"], only),
  run: async (context) => {
    const { cacheDir } = context.config;
    if (!context.asked.includes("kubernetes") && !hasPrograms(cacheDir)) return SKIPPED;
    const run = runner(context);
    if (!hasPrograms(cacheDir)) await installPackages(context);
    const programs = await buildPrograms(cacheDir, run, context.say);
    const directory = mkdtempSync(join(tmpdir(), "boxyard-cluster-"));
    // Root of a pod's user namespace walks through it.
    chmodSync(directory, 0o711);
    try {
      return await onCluster(context, directory, { programs, archives: await makeImages(context, directory, { programs, run }) });
    } finally {
      removeCgroups(cgroupOf(directory));
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** The cluster's cgroup, below the root of each hierarchy. */
const cgroupOf = (directory: string): string => `/test-cluster-${basename(directory)}`;

/** A command of the suite that must succeed. */
const runner =
  ({ command }: SuiteContext): Run =>
  async (argv, { cwd, env } = {}) => {
    const { exitCode, output } = await command(argv, { limitMs: BUILD_LIMIT_MS, ...(cwd && { cwd }), ...(env && { env }) });
    if (exitCode !== 0) throw new Error(`${argv.slice(0, 3).join(" ")} … failed:\n${output.slice(-4_000)}`);
  };

async function installPackages({ command }: SuiteContext): Promise<void> {
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const install = ["apt-get", "install", "-y", "--no-install-recommends", ...PACKAGES];
  if ((await command(install, { env })).exitCode === 0) return;
  await command(["apt-get", "update"], { env });
  await command(install, { env });
}

/** The images that pods have: what keeps a pod, the guest bundle of this checkout, and small sandboxes. */
async function makeImages(
  { config }: SuiteContext,
  directory: string,
  { programs, run }: { programs: string; run: Run },
): Promise<string[]> {
  const at = (name: string) => join(directory, name);
  const images = at("images");
  mkdirSync(images, { recursive: true });
  makePauseTree(at("pause"), join(programs, "pause"));
  const busybox = (await Bun.$`sh -c ${"command -v busybox"}`.text()).trim();
  makeSmallTree(at("small"), busybox);
  const orders = [
    { name: "localhost/pause:1", tree: at("pause"), entrypoint: ["/pause"] },
    { name: `localhost/boxyard/small:${SMALL}`, tree: at("small") },
    { name: "localhost/boxyard/guest:1", tree: join(config.testDataDir, "guest/current/") },
  ];
  const archives: string[] = [];
  for (const order of orders) {
    const archive = join(images, `${archives.length}.tar`);
    await packImage(order, archive, run);
    archives.push(archive);
  }
  // The images of the chart, as docs/kubernetes.md makes them.
  await run(["./boxyard", "dist", "--images"]);
  return [...archives, ...IMAGES.map(({ file }) => join("dist", file))];
}

async function onCluster(context: SuiteContext, directory: string, made: { programs: string; archives: string[] }): Promise<Tally> {
  const files = kubernetes.files(context.only);
  if (files.length === 0) return failedOne("no test ran");
  const report = join(directory, "report.xml");
  // With the namespaces go the bridge, the mounts and the addresses, also when the suite is killed.
  const alone = ["unshare", "--net", "--mount", "--propagation", "private"];
  const main = [
    bun,
    "tools/kubernetes/main.ts",
    join(directory, "cluster"),
    cgroupOf(directory),
    made.programs,
    made.archives.join(":"),
    report,
  ];
  mkdirSync(join(directory, "cluster"));
  const result = await context.command([...alone, ...main, ...files], { limitMs: LIMIT_MS - 60_000 });
  const cases = readReport(report);
  return { ...tallyReport(result, cases, context), files: files.length };
}

function readReport(path: string) {
  try {
    return parseJunit(readFileSync(path, "utf8"));
  } catch {
    return [];
  }
}
