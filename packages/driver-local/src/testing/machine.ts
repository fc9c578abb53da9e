import { readFileSync } from "node:fs";
import { join } from "node:path";
import { newSandboxId, type StepObserver } from "@boxyard/core";
import { type Logger, silentLogger } from "@boxyard/core/node";
import type { ImageRef, SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually, tryAll } from "@boxyard/testkit";
import type { LocalDriverConfig } from "../config.ts";
import type { LocalDriver } from "../driver.ts";
import { openLocalDriver } from "../open.ts";
import type { Reserve } from "../reserve-for-machine.ts";
import type { RuntimeName } from "../runtime/dialect.ts";
import { makeTestDataDir, type TestDataDir } from "../setup/index.ts";
import { readRecord } from "../state/record.ts";
import { PREPARED_POOL, SLOWNESS } from "./config.ts";

export const INIT_KEY = "0123456789abcdef0123456789abcdef";
export const never = new AbortController().signal;

/** A spec for the image of `dataDir`'s base template. */
export function testSpec(dataDir: string, resources: Partial<SandboxSpec["resources"]> = {}): SandboxSpec {
  const { image } = JSON.parse(readFileSync(join(dataDir, "templates/base.json"), "utf8")) as { image: ImageRef };
  return {
    sandboxId: newSandboxId(),
    incarnation: 1,
    image,
    hostname: "test",
    resources: { cpuCount: 2, memoryBytes: 256 << 20, diskBytes: 256 << 20, maxProcesses: 128, ...resources },
    network: { internetAccess: false },
    agent: { initKey: INIT_KEY },
    labels: {},
  };
}

/** A real driver on its own data directory, for tests that need root. It can be closed and opened again. */
export class TestMachine {
  /** Faults of the open driver, and of drivers that are opened later. */
  readonly faults: StepObserver = {};
  /** For the driver that is opened next, as the fields below. */
  criuLimitMs: number | undefined;
  /** By default no paused sandbox stays in memory. */
  wakeCache: LocalDriverConfig["wakeCache"];
  logger: Logger = silentLogger;
  diskBandwidth: number | undefined;
  reserve: Reserve | undefined;
  private open: LocalDriver | undefined;
  private made: TestDataDir | undefined;
  private readonly runtime: RuntimeName | undefined;

  private constructor(runtime: RuntimeName | undefined) {
    this.runtime = runtime;
  }

  /** A machine that `setUp` makes. */
  static unmade(runtime?: RuntimeName): TestMachine {
    return new TestMachine(runtime);
  }

  /** `runtime`: default, the driver's choice (usually crun). `parent`: directory for the data directory; default: the temporary directory. */
  static async make(runtime?: RuntimeName, parent?: string, reserve?: Reserve): Promise<TestMachine> {
    const machine = new TestMachine(runtime);
    machine.reserve = reserve;
    await machine.setUp(parent);
    return machine;
  }

  /** Makes the data directory and opens the driver. */
  async setUp(parent?: string): Promise<void> {
    const options = { ...(parent !== undefined && { parent }), ...(PREPARED_POOL !== undefined && { prepared: PREPARED_POOL }) };
    this.made = await makeTestDataDir(options);
    try {
      await this.reopen();
    } catch (error) {
      await this.made.remove();
      this.made = undefined;
      throw error;
    }
  }

  get directory(): TestDataDir {
    if (!this.made) throw new Error("the machine has not been set up");
    return this.made;
  }

  get dataDir(): string {
    return this.directory.dataDir;
  }

  get driver(): LocalDriver {
    if (!this.open) throw new Error("the driver is closed");
    return this.open;
  }

  spec(resources?: Partial<SandboxSpec["resources"]>): SandboxSpec {
    return testSpec(this.dataDir, resources);
  }

  async boot(spec = this.spec()): Promise<SandboxHandle> {
    const handle = await this.driver.create(spec, never);
    await this.driver.start(handle, never);
    return handle;
  }

  async close(): Promise<void> {
    await this.open?.close();
    this.open = undefined;
  }

  async reopen(options: Pick<LocalDriverConfig, "ending"> = {}): Promise<void> {
    await this.close();
    const agentTimeoutMs = 10_000 * SLOWNESS;
    const { dataDir, runtime, faults, criuLimitMs, wakeCache, logger, diskBandwidth, reserve } = this;
    // Read at each step, because tests change the faults while the driver is open.
    const observer: StepObserver = { before: (name) => faults.before?.(name), after: (name) => faults.after?.(name) };
    this.open = await openLocalDriver({
      dataDir,
      logger,
      observer,
      agentTimeoutMs,
      ...options,
      ...(runtime && { runtime }),
      ...(criuLimitMs && { criuLimitMs }),
      ...(wakeCache && { wakeCache }),
      ...(diskBandwidth && { diskBandwidth }),
      ...(reserve && { reserve }),
    });
  }

  /** The machine's pid of PID 1 of a sandbox. */
  initPid(handle: SandboxHandle): number {
    const record = readRecord(join(this.dataDir, "sandboxes", handle.sandboxId, "state.json"));
    if (!record?.process) throw new Error(`${handle.sandboxId} has no process`);
    return record.process.pid;
  }

  agentPid(handle: SandboxHandle): number {
    const init = this.initPid(handle);
    return Number(readFileSync(`/proc/${init}/task/${init}/children`, "utf8").trim().split(" ")[0]);
  }

  /**
   * Destroys all sandboxes, also after a failed test that has closed the driver or left its fault. One that cannot be removed does not stop the others;
   * throws the failures then.
   */
  async destroyAll(): Promise<void> {
    this.faults.before = () => {};
    this.faults.after = () => {};
    if (!this.open) await this.reopen({ ending: true });
    await tryAll((await this.driver.list()).map((handle) => () => this.driver.destroy(handle)));
  }

  /**
   * Destroys all sandboxes, releases everything on the machine, and removes the data directory: what a failed test leaves mounted makes the files after
   * it fail. So each act is tried although the ones before have failed; throws the failures then. Does nothing after a set-up that failed.
   */
  async dispose(): Promise<void> {
    if (!this.made) return;
    await tryAll([
      // A pool that takes no writes does so again only after all processes in it have ended: then those that could not be removed can be.
      () => eventually("all sandboxes are removed", () => this.destroyAll().then(() => true), { withinMs: 30_000 }),
      () => this.release(),
      () => this.close(),
      () => this.directory.remove(),
    ]);
  }

  private async release(): Promise<void> {
    await this.driver.release();
    this.open = undefined;
  }
}
