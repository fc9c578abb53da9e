import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { processStat } from "@boxyard/core/process-stat";
import { SQL } from "bun";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { memoryDirectory } from "./memory-directory.ts";
import { endsWithin, runProgram } from "./platform/child.ts";

/** A real PostgreSQL (Debian's package `postgresql`) on loopback, with a directory of its own, run by the user whom the package brings. */
export interface TestPostgres extends AsyncDisposable {
  /** Makes a database and returns its address: an empty one, or a copy of the database at the address `like`, to which nobody is connected. */
  database(like?: string): Promise<string>;
  /** Removes a database; who is connected to it is disconnected. */
  remove(url: string): Promise<void>;
  /** Ends it at once, as a crash would, and breaks all connections; `start` brings it back at the same address. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Stops every process of it (SIGSTOP), as on a machine that hangs; connections stay open and nothing answers. `proceed` lets it go on. */
  hang(): void;
  proceed(): void;
}

const USER = "boxyard";
const STOP_MS = 10_000;

export async function startPostgres(): Promise<TestPostgres> {
  const postgres = new PostgresProcess();
  try {
    await postgres.init();
    await postgres.start();
    return postgres;
  } catch (error) {
    await postgres[Symbol.asyncDispose]();
    throw error;
  }
}

/** The name of the database at an address. */
const nameIn = (url: string): string => new URL(url).pathname.slice(1);

class PostgresProcess implements TestPostgres {
  private readonly directory = mkdtempSync(join(memoryDirectory(), "boxyard-postgres-"));
  private readonly programs = programsDirectory();
  private readonly ids = idsOf("postgres");
  private port = 0;
  private child: Bun.Subprocess | undefined;
  private databases = 0;

  async init(): Promise<void> {
    // PostgreSQL refuses to run as root.
    chownSync(this.directory, this.ids.uid, this.ids.gid);
    chmodSync(this.directory, 0o700);
    const argv = ["initdb", "-D", join(this.directory, "data"), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions"];
    const { exitCode, stdout, stderr } = await runProgram(this.asUser(argv), { env: ENV, cwd: "/" });
    this.port = await freePort();
    if (exitCode !== 0) throw new AppError("internal", `initdb failed: ${stdout}${stderr}`, { reason: "initdb" });
  }

  async start(): Promise<void> {
    const settings = {
      listen_addresses: "127.0.0.1",
      port: this.port,
      unix_socket_directories: this.directory,
      dynamic_shared_memory_type: "mmap",
      shared_buffers: "16MB",
      max_connections: 60,
      fsync: "off",
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const log = Bun.file(join(this.directory, "..", `${this.directory.split("/").at(-1)}.log`));
    const argv = this.asUser(["postgres", "-D", join(this.directory, "data"), ...options]);
    const child = Bun.spawn(argv, { env: ENV, cwd: "/", stdin: "ignore", stdout: "ignore", stderr: log });
    this.child = child;
    await eventually("PostgreSQL answers", async () => {
      if (child.exitCode !== null) throw new AppError("internal", `postgres ended: ${await log.text()}`, { reason: "postgres_ended" });
      return this.answers();
    });
  }

  async database(like?: string): Promise<string> {
    const name = `test${++this.databases}`;
    // Copying files takes less than writing the copy to the log, where no sync is made.
    const template = like === undefined ? "" : ` TEMPLATE ${nameIn(like)} STRATEGY file_copy`;
    await this.withAdmin((sql) => sql.unsafe(`CREATE DATABASE ${name}${template}`));
    return this.url(name);
  }

  remove(url: string): Promise<void> {
    return this.withAdmin((sql) => sql.unsafe(`DROP DATABASE ${nameIn(url)} WITH (FORCE)`));
  }

  async crash(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child) return;
    child.kill("SIGQUIT");
    if (await endsWithin(child.exited, STOP_MS)) return;
    child.kill("SIGKILL");
    await child.exited;
  }

  hang(): void {
    this.signalAll("SIGSTOP");
  }

  proceed(): void {
    this.signalAll("SIGCONT");
  }

  /** Signals the first process, and then those that it has started: a stopped process starts no others. */
  private signalAll(signal: "SIGSTOP" | "SIGCONT"): void {
    for (const pid of this.processes()) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // Processes of connections end by themselves.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  /** The first process of the database, and those that it has started. */
  private *processes(): Generator<number> {
    const first = this.child?.pid;
    if (first === undefined) return;
    yield first;
    const isStarted = (name: string) => /^\d+$/.test(name) && processStat(Number(name))?.parentPid === first;
    yield* readdirSync("/proc").filter(isStarted).map(Number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proceed();
    await this.crash();
    rmSync(this.directory, { recursive: true, force: true });
    rmSync(`${this.directory}.log`, { force: true });
  }

  private url(database: string): string {
    return `postgres://${USER}@127.0.0.1:${this.port}/${database}`;
  }

  private answers(): Promise<boolean> {
    return this.withAdmin((sql) => sql`SELECT 1`).then(
      () => true,
      () => false,
    );
  }

  private async withAdmin(work: (sql: SQL) => PromiseLike<unknown>): Promise<void> {
    const sql = new SQL(this.url("postgres"), { max: 1 });
    try {
      await work(sql);
    } finally {
      await sql.close();
    }
  }

  private asUser([program, ...args]: readonly string[]): string[] {
    const { uid, gid } = this.ids;
    // Should this process be killed, PostgreSQL goes with it.
    const drop = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--pdeathsig=QUIT"];
    return [...drop, join(this.programs, program ?? ""), ...args];
  }
}

const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C" };

/** Debian keeps the programs of each version in a directory of its own. */
function programsDirectory(): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(a) - Number(b)) : [];
  const newest = versions.at(-1);
  if (newest === undefined) throw new AppError("failed_precondition", "PostgreSQL is not installed (Debian package postgresql)");
  return join(root, newest, "bin");
}

function idsOf(user: string): { uid: number; gid: number } {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((text) => text.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (uid === undefined || gid === undefined) throw new AppError("failed_precondition", `There is no user ${user}`);
  return { uid: Number(uid), gid: Number(gid) };
}
