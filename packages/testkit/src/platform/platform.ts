import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, isAppError } from "@boxyard/core";
import { CHECKOUT, readTestConfig } from "../config.ts";
import { eventually } from "../eventually.ts";
import { type ApiCall, type ApiReply, callApi } from "./api.ts";
import { bundleOrSource, SERVER_PROGRAMS } from "./bundles.ts";
import { runProgram } from "./child.ts";
import { clientEnv } from "./client-env.ts";
import { FAULT_VARIABLE, type Fault, writeFaults } from "./faults.ts";
import { attachInstalled } from "./installed.ts";
import type { LogLine, Platform } from "./running-platform.ts";
import { logFileOf, SETUP_NEEDED, type ServerProcess, startServer } from "./server-process.ts";

export interface PlatformOptions {
  /** More settings for the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** The server takes faults: `inject`. With this, `env` or `own`, it is always a server of the tests' own. */
  readonly faults?: boolean;
  /** For a test that restarts the server or fills its store: not on an installation that others use (`./boxyard test hostile --installed`). */
  readonly own?: boolean;
}

/** Tests' registries are on loopback, on any port. */
const TEST_REGISTRIES = "127.0.0.1";

/** Starts the platform for a test file. The data directory must have been set up (`./boxyard test platform`). */
export async function bootPlatform(options: PlatformOptions = {}): Promise<Platform> {
  const config = readTestConfig();
  if (config.installedDataDir && !options.env && !options.faults && !options.own)
    return attachInstalled(config.installedDataDir, config.env);
  const keyFile = join(config.dataDir, "api-key");
  if (!existsSync(keyFile)) {
    throw new AppError("failed_precondition", `${config.dataDir} is not set up; run ./boxyard test platform`, { reason: "not_set_up" });
  }
  const faultFile = join(config.dataDir, "test-fault.json");
  const faults = options.faults ? { [FAULT_VARIABLE]: faultFile } : {};
  const places = { BOXYARD_DATA: config.dataDir, BOXYARD_CACHE: config.cacheDir, BOXYARD_PRIVATE_REGISTRIES: TEST_REGISTRIES };
  const env = { ...config.env, ...places, ...faults, ...options.env };
  writeFaults(faultFile, []);
  const start: Start = (listen, args, more) => startServer(config.dataDir, { ...env, ...more, BOXYARD_LISTEN: listen }, args);
  const server = await start("127.0.0.1:0").catch(async (error: unknown) => {
    if (!isAppError(error) || error.reason !== SETUP_NEEDED) throw error;
    await setUp(env);
    return start("127.0.0.1:0");
  });
  try {
    const apiKey = readFileSync(keyFile, "utf8").trim();
    const setUpAgain = () => setUp(env);
    return new RunningPlatform(server, start, { setUpAgain, apiKey, dataDir: config.dataDir, faultFile, env: await clientEnv(env) });
  } catch (error) {
    await server.kill9();
    throw error;
  }
}

/** Sets up again what `down --sandboxes` of an earlier test released. */
async function setUp(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const ended = await runProgram([process.execPath, bundleOrSource(SERVER_PROGRAMS.plain), "setup"], {
    cwd: CHECKOUT,
    env,
    limitMs: 300_000,
  });
  if (ended.exitCode !== 0) throw new AppError("internal", `Set-up failed: ${ended.stderr}`, { reason: "setup" });
}

type Start = (listen: string, args?: readonly string[], env?: Readonly<Record<string, string>>) => Promise<ServerProcess>;

interface Fixed {
  readonly setUpAgain: () => Promise<void>;
  readonly apiKey: string;
  readonly dataDir: string;
  readonly faultFile: string;
  readonly env: Readonly<Record<string, string>>;
}

class RunningPlatform implements Platform {
  private server: ServerProcess;
  private running = true;
  private disposal: Promise<void> | undefined;
  private readonly start: Start;
  readonly apiKey: string;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly apiUrl: string;
  readonly setUp: () => Promise<void>;
  private readonly faultFile: string;

  constructor(server: ServerProcess, start: Start, fixed: Fixed) {
    this.server = server;
    this.start = start;
    this.setUp = fixed.setUpAgain;
    this.apiKey = fixed.apiKey;
    this.dataDir = fixed.dataDir;
    this.env = fixed.env;
    this.faultFile = fixed.faultFile;
    this.apiUrl = server.url;
  }

  get pid(): number {
    return this.server.pid;
  }

  api(call: ApiCall): Promise<ApiReply> {
    return callApi(this.apiUrl, { ...call, headers: { "X-API-Key": this.apiKey, ...call.headers } });
  }

  async restart(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.stop();
    this.server = await this.start(new URL(this.apiUrl).host, args, env);
    this.running = true;
  }

  async kill9(): Promise<void> {
    this.running = false;
    await this.server.kill9();
  }

  async stop(): Promise<void> {
    if (!this.running) return;
    this.running = false;
    await this.server.stop();
  }

  inject(...faults: readonly Fault[]): void {
    writeFaults(this.faultFile, faults);
  }

  async faultsHappened(): Promise<void> {
    await eventually("the faults have happened", () => !existsSync(this.faultFile));
  }

  async died(): Promise<void> {
    await this.server.exited;
    this.running = false;
  }

  log(): LogLine[] {
    const lines = readFileSync(logFileOf(this.dataDir), "utf8").split("\n");
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as LogLine);
  }

  /** Repeatable. */
  [Symbol.asyncDispose](): Promise<void> {
    this.disposal ??= this.dispose();
    return this.disposal;
  }

  private async dispose(): Promise<void> {
    this.inject();
    if (!this.running) await this.restart();
    try {
      const { body } = await this.api({ path: "/v2/sandboxes" });
      for (const { sandboxID } of body as { sandboxID: string }[]) await this.api({ method: "DELETE", path: `/sandboxes/${sandboxID}` });
    } finally {
      await this.stop();
    }
  }
}
