import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, readTestConfig, runProgram, SERVER_PROGRAMS } from "@boxyard/testkit";

/** Set-up of a machine without anything in the cache takes more than a minute. */
const LIMIT_MS = 600_000;

/**
 * The test platform as a bench finds it. What is not set up is set up, and removed again by `restore`; what is set up and not in use (no mounted pool) is so
 * again afterwards.
 */
export class OwnPlatform {
  private readonly config = readTestConfig();
  private readonly wasSetUp: boolean;
  private readonly wasInUse: boolean;

  constructor() {
    const { dataDir } = this.config;
    this.wasSetUp = existsSync(join(dataDir, "api-key"));
    this.wasInUse = readFileSync("/proc/self/mounts", "utf8").includes(` ${join(dataDir, "pool")} `);
  }

  /** `say` tells a person what takes so long. */
  async setUp(say: (line: string) => void): Promise<void> {
    if (this.wasSetUp) return;
    say(`setting up ${this.config.dataDir}; it is removed at the end`);
    await this.role("setup");
  }

  /** Repeatable. */
  async restore(): Promise<void> {
    if (!existsSync(this.config.dataDir)) return;
    if (!this.wasSetUp) await this.role("uninstall");
    else if (!this.wasInUse) await this.role("release", "--sandboxes");
  }

  private async role(...role: string[]): Promise<void> {
    const { dataDir, cacheDir, env: inherited } = this.config;
    const env = { ...inherited, BOXYARD_DATA: dataDir, BOXYARD_CACHE: cacheDir };
    const ended = await runProgram([process.execPath, SERVER_PROGRAMS.plain, ...role], { cwd: CHECKOUT, env, limitMs: LIMIT_MS });
    if (ended.exitCode !== 0) throw new Error(`${role.join(" ")} failed:\n${ended.stderr}${ended.stdout}`);
  }
}
