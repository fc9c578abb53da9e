import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import type { FileLock } from "@boxyard/core/file-lock";
import {
  type Criu,
  type CriuFacts,
  criuDirectory,
  criuFactsFile,
  criuIn,
  kernelRelease,
  machineCriu,
  readCriuFacts,
} from "../../criu/criu.ts";
import { tryCriu } from "../../criu/self-test.ts";
import { runCommand } from "../../sys/run.ts";
import { privateCriu } from "../criu/fetch.ts";
import { writeWhole } from "../files.ts";
import type { SetupConfig, Stage, StageReport } from "../types.ts";

/** A failed search for CRIU is repeated only after this time, not by every command: apt may take long to find that there is no network. */
const RETRY_MS = 60 * 60_000;

/** Finds CRIU, by which pauses keep memory. Does not fail without it: then pauses keep only the disk, and `doctor` says why. */
export const checkpoint: Stage = {
  name: "checkpoint",
  title: "CRIU",
  key: () => "1",
  isDone({ dataDir }) {
    const facts = readCriuFacts(dataDir);
    if (!facts || facts.kernel !== kernelRelease()) return false;
    if (facts.problem !== undefined) return Date.now() - statSync(criuFactsFile(dataDir)).mtimeMs < RETRY_MS;
    return facts.criu !== undefined && existsSync(facts.criu.file);
  },
  async run(config, report, lock) {
    const facts = await findCriu(config, report, lock);
    mkdirSync(criuDirectory(config.dataDir), { recursive: true, mode: 0o755 });
    writeWhole(criuFactsFile(config.dataDir), `${JSON.stringify(facts)}\n`);
    report.result(facts.criu && facts.problem === undefined ? facts.criu.version : `pauses keep the disk only: ${facts.problem}`);
  },
};

/** The machine's own CRIU if it passes the self-test, else a private one. */
async function findCriu(config: SetupConfig, report: StageReport, lock?: FileLock): Promise<CriuFacts> {
  const own = await machineCriu();
  if (own) {
    const facts = await judge(own);
    if (facts.problem === undefined) return facts;
  }
  try {
    const criu = await install(config, report, lock);
    if (!criu) return factsOf({ problem: "the newest CRIU of the machine's package archive is older than 4.2, or does not start" });
    report.progress("trying it");
    return await judge(criu);
  } catch (error) {
    return factsOf({ problem: error instanceof Error ? (error.message.split("\n")[0] as string) : String(error) });
  }
}

/** Copies a private CRIU to the data directory, so that pauses work without the cache. */
async function install(config: SetupConfig, report: StageReport, lock?: FileLock): Promise<Criu | undefined> {
  const source = await privateCriu(config, report);
  const target = `${criuDirectory(config.dataDir)}/private`;
  rmSync(criuDirectory(config.dataDir), { recursive: true, force: true });
  mkdirSync(criuDirectory(config.dataDir), { recursive: true, mode: 0o755 });
  await runCommand(["cp", "--archive", "--reflink=auto", source, target], { lock });
  return criuIn(target);
}

async function judge(criu: Criu): Promise<CriuFacts> {
  const problem = await tryCriu(criu);
  return factsOf(problem === undefined ? { criu } : { criu, problem });
}

const factsOf = (found: Pick<CriuFacts, "criu" | "problem">): CriuFacts => ({ version: 1, kernel: kernelRelease(), ...found });
