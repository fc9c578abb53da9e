import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, StepObserver } from "@boxyard/core";
import { type Logger, silentLogger } from "@boxyard/core/node";
import { FakeDriver, FakeWorld } from "@boxyard/driver/fake";
import type { Scope } from "@boxyard/spec/platform";
import { platformDocument } from "@boxyard/spec/platform-document";
import { DocumentCheck } from "@boxyard/spec/testing";
import { readConfig, type ServerConfig } from "../config.ts";
import type { ServerOptions } from "../context.ts";
import { adminTokenPath } from "../keys/first-key.ts";
import { type RunningServer, startServer } from "../start-server.ts";
import type { OrphanPolicy } from "../store-identity.ts";
import { newDataDir } from "./data-directory.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined for an empty body. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at arbitrary members
  readonly body: any;
}

export interface TestServerOptions {
  readonly world?: FakeWorld;
  /** An existing data directory: a restart. */
  readonly dataDir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** How long an agent may take for an answer; as on a real server by default. */
  readonly agentLimitMs?: number;
  /** How long a step may go on after the abort of its transition; as on a real server by default. */
  readonly stepGraceMs?: number;
  readonly observer?: StepObserver;
  readonly startObserver?: StepObserver;
  readonly logger?: Logger;
  readonly orphans?: OrphanPolicy;
  /** Gives the directory of the dashboard's files. */
  readonly dashboardFiles?: () => Promise<string>;
  readonly elsewhere?: ServerOptions["elsewhere"];
  /** What the machine is set to use; nothing by default. */
  readonly packageHosts?: () => readonly string[];
  readonly webhookBackoffMs?: readonly number[];
  /** What the machine can do; nothing by default. */
  readonly fingerprint?: ServerOptions["fingerprint"];
}

const document = new DocumentCheck(platformDocument());
/** Statuses that any request can get before it reaches an operation (docs/status-codes.md). Every other status must be in the OpenAPI document. */
const BEFORE_OPERATIONS = new Set([405, 411, 413, 431]);

/** Throws when an answer is not what the OpenAPI document says. */
function checkAnswer(method: string, path: string, status: number, body: unknown): void {
  const name = document.find(method, path);
  if (name === undefined) return;
  const isBefore = BEFORE_OPERATIONS.has(status) && !(status in document.operation(name).responses);
  const problems = isBefore ? document.problems({ $ref: "#/components/schemas/Error" }, body) : document.answerProblems(name, status, body);
  if (problems.length > 0) throw new Error(`The OpenAPI document does not describe an answer: ${problems.join("; ")}`);
}

/** Without a warm pool: a sandbox that nobody has asked for would be one too many where a test counts what a create makes. Tests of the pool switch it on. */
const SETTINGS = { BOXYARD_LISTEN: "127.0.0.1:0", BOXYARD_LOG_LEVEL: "silent", BOXYARD_WARM_SANDBOXES: "0" };

/** The real server, which listens, over a fake driver and with a data directory of its own. For tests. */
export class TestServer {
  readonly server: RunningServer;
  readonly world: FakeWorld;
  readonly config: ServerConfig;

  private constructor(server: RunningServer, world: FakeWorld, config: ServerConfig) {
    this.server = server;
    this.world = world;
    this.config = config;
  }

  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const world = options.world ?? new FakeWorld();
    const dataDir = options.dataDir ?? (await newDataDir());
    await mkdir(join(dataDir, "templates"), { recursive: true });
    const image = { digest: `sha256:${"a".repeat(64)}`, layers: [`sha256:${"b".repeat(64)}`] };
    // The files of `base`, which set-up would install.
    for (const digest of image.layers) {
      if (!world.layers.has(digest))
        world.layers.set(digest, { info: { digest, sizeBytes: 1024, createdAt: 1 }, tar: new Uint8Array(1024) });
    }
    await writeFile(join(dataDir, "templates/base.json"), JSON.stringify({ version: 1, name: "base", image, env: { FROM_TEMPLATE: "1" } }));
    const config = readConfig({ ...SETTINGS, BOXYARD_DATA: dataDir, ...options.env });
    const {
      clock,
      observer,
      startObserver,
      agentLimitMs,
      stepGraceMs,
      orphans,
      elsewhere,
      dashboardFiles,
      webhookBackoffMs,
      packageHosts,
      fingerprint,
    } = options;
    const { logger = silentLogger } = options;
    const driver = new FakeDriver(world);
    const server = await startServer({
      config,
      driver,
      logger,
      ...(clock && { clock }),
      ...(agentLimitMs && { agentLimitMs }),
      ...(stepGraceMs && { stepGraceMs }),
      ...(observer && { observer }),
      ...(startObserver && { startObserver }),
      ...(orphans && { orphans }),
      ...(dashboardFiles && { dashboardFiles }),
      ...(elsewhere && { elsewhere }),
      ...(webhookBackoffMs && { webhookBackoffMs }),
      ...(packageHosts && { packageHosts }),
      ...(fingerprint && { fingerprint }),
    });
    return new TestServer(server, world, config);
  }

  get url(): string {
    return this.server.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get apiKey(): string {
    return this.server.firstKey.key;
  }

  get adminToken(): string {
    return readFileSync(adminTokenPath(this.config.dataDir), "utf8").trim();
  }

  /** Another team, and headers with its first API key, for `call`. */
  async team(slug: string): Promise<{ teamID: string; key: string; headers: { "X-API-Key": string } }> {
    const { body } = await this.call("POST", "/admin/teams", { slug });
    return { ...body, headers: { "X-API-Key": body.key } };
  }

  /** Headers with a new key of the server's own team, for `call`. */
  async keyWith(...scopes: Scope[]): Promise<{ "X-API-Key": string }> {
    return { "X-API-Key": (await this.call("POST", "/api-keys", { name: scopes.join(), scopes })).body.key };
  }

  /** One API call with the key; `body` is sent as JSON. The answer must be as the OpenAPI document describes it. */
  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const response = await fetch(this.url + path, {
      method,
      headers: { "X-API-Key": this.apiKey, ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    // A stream has no end: only its head is looked at.
    if (isStream) await response.body?.cancel();
    const text = isStream ? "" : await response.text();
    const answer = { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
    if (!isStream) checkAnswer(method, path, answer.status, answer.body);
    return answer;
  }

  /** Creates a sandbox of `base`; throws when that fails. */
  async create(body: Record<string, unknown> = {}): Promise<{ sandboxID: string; envdAccessToken: string; [key: string]: unknown }> {
    const created = await this.call("POST", "/v2/sandboxes", { templateID: "base", ...body });
    if (created.status !== 201) throw new Error(`create answered ${created.status}: ${JSON.stringify(created.body)}`);
    return created.body;
  }

  /** Stops the server; the world and the data directory stay. */
  async stop(): Promise<void> {
    await this.server.close(200);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.world.clear();
    await rm(this.config.dataDir, { recursive: true, force: true });
  }
}
