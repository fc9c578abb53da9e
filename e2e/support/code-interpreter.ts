import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { hashSources } from "@boxyard/driver-local/carried";
import { baseTarName } from "@boxyard/driver-local/setup";
import { Template } from "@boxyard/sdk/template";
import { CHECKOUT, type Platform, readTestConfig, runProgram } from "@boxyard/testkit";
import { onePerCache } from "./cache-lock.ts";
import { block } from "./documents.ts";

const NAME = "code-interpreter";
/** Of the recipe, what the template is made of. */
const PARTS = ["Dockerfile", "settings.json", "requirements.txt", "deno", "service"];
const ARCHIVE = /^code-interpreter-[0-9a-f]{16}\.tar$/;
/** Another checkout may share the cache. */
const ARCHIVES_KEPT = 2;
const BUILD_LIMIT_MS = 600_000;

/**
 * Makes sure that the template of this checkout's recipe exists: left by an earlier run, else from the archive in the cache, else built by the command that
 * users have and then exported into the cache. Not in CI: there nobody imports the archive, since all files that use the template share a platform, and the
 * cache ends with the run.
 */
export async function ensureCodeInterpreter(platform: Platform): Promise<void> {
  const server = { apiUrl: platform.apiUrl, apiKey: platform.apiKey };
  const key = hashSources(
    PARTS.map((part) => `images/${NAME}/${part}`),
    [baseTarName()],
  );
  const tag = `recipe-${key}`;
  const tags = await Template.getTags(NAME, server).catch(() => []);
  const build = tags.find((one) => one.tag === "default")?.buildId;
  if (build !== undefined && tags.some((one) => one.tag === tag && one.buildId === build)) return;
  const archive = join(readTestConfig().cacheDir, `${NAME}-${key}.tar`);
  await onePerCache(NAME, () => makeTemplate(platform, archive, tag));
}

async function makeTemplate(platform: Platform, archive: string, tag: string): Promise<void> {
  const server = { apiUrl: platform.apiUrl, apiKey: platform.apiKey };
  if (existsSync(archive)) {
    const { memoryMB, cpuCount } = (await import(`../../images/${NAME}/settings.json`)) as { memoryMB: number; cpuCount: number };
    await Template.fromArchive(archive).build(NAME, { ...server, memoryMB, cpuCount, tags: ["default", tag] });
    return;
  }
  const command = block("images/code-interpreter/README.md", "sh").replace(/^boxyard/, "./boxyard");
  const built = await runProgram(["sh", "-ec", command], { cwd: CHECKOUT, env: platform.env, limitMs: BUILD_LIMIT_MS });
  if (built.exitCode !== 0) throw new Error(`boxyard template rebuild ${NAME} failed:\n${built.stdout}${built.stderr}`);
  await Template.assignTags(NAME, tag, server);
  if (!readTestConfig().ci) await keep(archive, server);
}

async function keep(archive: string, server: { apiUrl: string; apiKey: string }): Promise<void> {
  const { cacheDir } = readTestConfig();
  const aside = `${archive}.${process.pid}`;
  mkdirSync(cacheDir, { recursive: true });
  try {
    await Template.export(NAME, aside, server);
    renameSync(aside, archive);
  } finally {
    rmSync(aside, { force: true });
  }
  const archives = readdirSync(cacheDir)
    .filter((name) => ARCHIVE.test(name))
    .map((name) => ({ path: join(cacheDir, name), at: statSync(join(cacheDir, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of archives.slice(ARCHIVES_KEPT)) rmSync(path, { force: true });
}
