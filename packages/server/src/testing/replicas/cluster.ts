import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, freePort, type TestPostgres } from "@boxyard/testkit";
import { SQL } from "bun";
import { DatabaseLink } from "./database-link.ts";
import { KILL_AT } from "./kill-at.ts";
import { WorldServer } from "./world-server.ts";

const PROGRAM = join(import.meta.dir, "main.ts");
const IMAGE = { digest: `sha256:${"a".repeat(64)}`, layers: [`sha256:${"b".repeat(64)}`] };
/** The same on every replica, as docs/several-servers.md asks for. */
const SECRETS = { "store-key": "5".repeat(64), "api-key": `e2b_${"7".repeat(40)}`, "admin-token": `boxyard_admin_${"6".repeat(40)}` };

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at arbitrary members
  readonly body: any;
}

/** One server process. */
export class ReplicaProcess {
  readonly name: string;
  readonly port: number;
  readonly dataDir: string;
  readonly link: DatabaseLink;
  private readonly worldUrl: string;
  private child: Bun.Subprocess | undefined;

  constructor(name: string, port: number, dataDir: string, database: string, worldUrl: string) {
    this.name = name;
    this.port = port;
    this.dataDir = dataDir;
    this.link = new DatabaseLink(database);
    this.worldUrl = worldUrl;
    mkdirSync(join(dataDir, "templates"), { recursive: true, mode: 0o700 });
    for (const [file, text] of Object.entries(SECRETS)) writeFileSync(join(dataDir, file), `${text}\n`, { mode: 0o600 });
    writeFileSync(join(dataDir, "templates/base.json"), JSON.stringify({ version: 1, name: "base", image: IMAGE, env: {} }));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get log(): string {
    return readFileSync(join(this.dataDir, "log"), "utf8");
  }

  /** Starts the process; it answers once `role` does. */
  start(): void {
    this.spare();
    const log = openSync(join(this.dataDir, "log"), "a", 0o600);
    const address = `127.0.0.1:${this.port}`;
    const env = {
      ...{ BOXYARD_DATA: this.dataDir, BOXYARD_LISTEN: address, BOXYARD_REPLICA_ADDRESS: address },
      ...{ DATABASE_URL: this.link.url, WORLD_URL: this.worldUrl, BOXYARD_BUILD_SETTINGS: "none" },
      // Pods have no warm pool, but the fake driver could have one: its sandboxes would be too many where a test counts.
      BOXYARD_WARM_SANDBOXES: "0",
    };
    this.child = Bun.spawn([process.execPath, PROGRAM], { env, stdin: "ignore", stdout: log, stderr: log });
    closeSync(log);
  }

  async role(): Promise<string | undefined> {
    const answer = await fetch(`${this.url}/replica`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
    return answer && ((await answer.json()) as { role: string }).role;
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Makes it kill itself at a step: `before` or `after`, and the step's name. */
  killAt(point: string): void {
    writeFileSync(join(this.dataDir, KILL_AT), point);
  }

  /** Takes `killAt` back. */
  spare(): void {
    rmSync(join(this.dataDir, KILL_AT), { force: true });
  }

  get hasEnded(): boolean {
    return this.child !== undefined && (this.child.exitCode !== null || this.child.signalCode !== null);
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    await this.child?.exited;
  }

  async kill9(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended();
  }

  async stop(): Promise<void> {
    this.signal("SIGCONT");
    this.signal("SIGTERM");
    await this.ended();
  }

  /** A request with the API key. */
  fetch(
    path: string,
    { headers, ...options }: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response> {
    return fetch(this.url + path, { ...options, headers: { "X-API-Key": SECRETS["api-key"], ...headers } });
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const type: Record<string, string> = body === undefined ? {} : { "Content-Type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await this.fetch(path, { method, headers: { ...type, ...headers }, ...sent });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  }
}

/** Several servers, each a process of its own, over one PostgreSQL and one world of fake sandboxes. */
export class ReplicaCluster implements AsyncDisposable {
  readonly world = new WorldServer();
  readonly replicas: ReplicaProcess[] = [];
  private readonly directory: string;
  private database: string;

  private constructor(directory: string, database: string) {
    this.directory = directory;
    this.database = database;
  }

  /** `postgres`: belongs to the caller. */
  static async start(postgres: TestPostgres, count: number): Promise<ReplicaCluster> {
    const cluster = new ReplicaCluster(await mkdtemp(join(tmpdir(), "boxyard-replicas-")), await postgres.database());
    for (let at = 0; at < count; at++) await cluster.add();
    return cluster;
  }

  get databaseUrl(): string {
    return this.database;
  }

  /** Adds a replica and starts it, without waiting until it answers. */
  async add(): Promise<ReplicaProcess> {
    const name = `r${this.replicas.length}`;
    const replica = new ReplicaProcess(name, await freePort(), join(this.directory, name), this.database, this.world.url);
    this.replicas.push(replica);
    replica.start();
    return replica;
  }

  /** The one replica that owns the sandboxes, and another one that does not. */
  async settled(): Promise<{ owner: ReplicaProcess; standby: ReplicaProcess }> {
    return eventually("there is one owner", async () => {
      const roles = await Promise.all(this.replicas.map(async (replica) => [replica, await replica.role()] as const));
      const owners = roles.filter(([, role]) => role === "owner");
      const standby = roles.find(([, role]) => role === "standby");
      const [owner] = owners;
      return owner && standby && owners.length === 1 && { owner: owner[0], standby: standby[0] };
    });
  }

  /** Ends the lease of an owner that is dead, so that a test need not wait for that. */
  async expireLease(): Promise<void> {
    await using sql = new SQL(this.database, { max: 1 });
    await sql`UPDATE replica_lease SET expires_at = clock_timestamp()`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.replicas) {
      replica.signal("SIGKILL");
      await replica.ended();
      replica.link[Symbol.dispose]();
    }
    await this.world[Symbol.asyncDispose]();
    await rm(this.directory, { recursive: true, force: true });
  }
}
