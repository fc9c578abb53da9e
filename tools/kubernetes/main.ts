/*
 * Starts a cluster in namespaces of its own, runs test files on it, and stops it:
 * `unshare --net --mount --propagation private bun tools/kubernetes/main.ts DIRECTORY CGROUP PROGRAMS ARCHIVES REPORT FILE…`.
 * `suites/kubernetes.ts` calls it.
 */
import { Cluster } from "./cluster.ts";
import { serveFaults } from "./faults.ts";
import type { Run } from "./programs.ts";

const [directory = "", cgroup = "", programs = "", archives = "", report = "", ...files] = process.argv.slice(2);

const run: Run = async (argv, { cwd, env } = {}) => {
  const child = Bun.spawn([...argv], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    ...(cwd && { cwd }),
    env: { ...process.env, ...env },
  });
  const words = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${argv.slice(0, 3).join(" ")} … failed: ${words.slice(-2_000)}`);
};

const cluster = new Cluster({ directory, programs, cgroup }, run);
let exitCode = 1;
try {
  await cluster.start(archives.split(":"));
  using _faults = serveFaults(directory, cluster);
  const argv = [process.execPath, "test", "--timeout=120000", "--reporter=junit", `--reporter-outfile=${report}`];
  const tests = Bun.spawn([...argv, ...files.map((file) => `./${file}`)], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    env: { ...process.env, BOXYARD_TEST_CLUSTER: directory },
  });
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => tests.kill("SIGTERM"));
  exitCode = await tests.exited;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.error(cluster.lastWords());
} finally {
  await cluster.stop();
}
process.exit(exitCode);
