import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type Clock } from "@boxyard/core";
import { addRootMounts, type RootMounts } from "../rootfs/mounts.ts";
import { ChildProgram, type ForkServer, type ParkedChild } from "../sys/fork-server/index.ts";
import { hasErrno } from "../sys/libc.ts";
import type { ChosenRuntime } from "./choose.ts";
import type { Dialect, RuntimeName } from "./dialect.ts";

/** A runtime takes a fraction of a second; on a very busy machine, a few seconds. */
const CREATE_MS = 30_000;
/** Enough of the runtime's log for a sentence. */
const LOG_BYTES = 2_000;

export interface CreateOptions {
  /** Name of the container. */
  readonly id: string;
  /** Directory with config.json, `<root>/<id>`. */
  readonly bundle: string;
  /** Cgroups to start in, the v2 one first; every process of the sandbox is born in them. */
  readonly cgroups: readonly string[];
  /** A parked child to run in, which is in the v1 cgroups already. */
  readonly child?: ParkedChild;
  readonly mounts: RootMounts;
  /** On hybrid machines (see `hybridControllersFile`). */
  readonly controllersFile: string | undefined;
  /** What the sandbox's init finds in its standard input, which is a pipe that lives inside it alone (docs/decisions.md, Standard input and output of a sandbox). */
  readonly input: string;
}

/** An OCI runtime, which only makes and starts sandboxes: everything after that goes through the kernel. */
export class OciRuntime {
  private readonly dialect: Dialect;
  private readonly file: string;
  private readonly root: string;
  private readonly clock: Clock;
  private readonly forkServer: ForkServer;

  /** `root`: where it keeps its state. */
  constructor({ dialect, file }: ChosenRuntime, root: string, clock: Clock, forkServer: ForkServer) {
    this.forkServer = forkServer;
    this.dialect = dialect;
    this.file = file;
    this.root = root;
    this.clock = clock;
  }

  get name(): RuntimeName {
    return this.dialect.name;
  }

  /** Makes the container, with nothing of it running yet; returns the pid of what will become its init. */
  async create(options: CreateOptions): Promise<number> {
    const pidFile = join(options.bundle, "pid");
    const logFile = join(options.bundle, "runtime.log");
    const [top, ...v1] = options.cgroups as [string, ...string[]];
    const program = new ChildProgram();
    if (!options.child) for (const directory of v1) program.writeFile(join(directory, "cgroup.procs"), "0");
    program.call("setsid", []);
    addRootMounts(program, options.mounts);
    program.call("umask", [0o022]);
    this.dialect.addMounts(program, { file: this.file, cgroup: top, controllersFile: options.controllersFile });
    addStdio(program, options.input);
    program.execute(
      this.file,
      [
        ...["--root", this.root, "--log", logFile, ...this.dialect.options],
        ...["create", "--bundle", options.bundle, "--pid-file", pidFile, containerName(options.id)],
      ],
      { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...this.dialect.env },
    );
    const { child } = options;
    const code = await (child ? child.goOn(program, top, CREATE_MS) : this.forkServer.run(program, { cgroup: top, limitMs: CREATE_MS }));
    if (code !== 0) throw failure("create", code, logFile);
    // Read synchronously: the file is in memory (`mountRuntimeState`), and a thread that reads it would take longer.
    return Number(readFileSync(pidFile, "utf8"));
  }

  /** True while a created container waits for its start. */
  isWaiting(id: string): boolean {
    return existsSync(this.fifo(id));
  }

  /**
   * Starts the container through its fifo, as the runtime's own `start` would. Fails with ENXIO when its init has ended; `isAlive` says whether
   * it lives.
   */
  async start(id: string, isAlive: () => boolean): Promise<void> {
    const fifo = this.fifo(id);
    await this.dialect.start(fifo, isAlive, this.clock);
    // Removed last: a start that a crash cut short counts as not done.
    unlinkSync(fifo);
  }

  /** Forgets the container and its bundle: only files, for its processes end with their cgroup. Repeatable. */
  async forget(id: string): Promise<void> {
    for (const name of [containerName(id), id]) await rm(join(this.root, name), { recursive: true, force: true });
  }

  private fifo(id: string): string {
    return join(this.root, containerName(id), "exec.fifo");
  }
}

/** Not the sandbox's id: runc would take a cgroup of its container's name for a leftover. */
const containerName = (id: string): string => `boxyard-${id}`;

/** Standard streams: a pipe with `input` in it. */
function addStdio(program: ChildProgram, input: string): void {
  const { read, write } = program.pipe();
  const data = new TextEncoder().encode(input);
  program.call("write", [write, data, data.byteLength], "stdio pipe");
  for (const [target, fd] of [read, write, write].entries()) program.call("dup3", [fd, target, 0]);
}

function failure(verb: string, code: number, logFile: string): AppError {
  let log = "";
  try {
    log = readFileSync(logFile, "utf8").slice(-LOG_BYTES).trim();
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
  // The runtime reports errors only as text in its log; these are the C library's texts for what the machine lacks at the moment.
  const isTransient = /Resource temporarily unavailable|Cannot allocate memory|Too many open files|No space left on device/.test(log);
  return new AppError(
    isTransient ? "resource_exhausted" : "internal",
    `The runtime failed to ${verb} the sandbox (exit code ${code}): ${log || "its log is empty"}`,
    {
      reason: `runtime_${verb}_failed`,
    },
  );
}
