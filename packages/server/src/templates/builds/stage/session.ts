import type { TakeOutput } from "@boxyard/agent-client";
import { AppError, isAppError, type TeamId } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { Pin } from "../../../images/pins.ts";
import type { BuildRecord } from "../../../store/index.ts";
import { BuildFailure, shown } from "../log/build-failure.ts";
import { type BuildLog, LineCutter } from "../log/build-log.ts";
import { BUILD_DIRECTORY, STANDARD_PATH } from "./build-settings.ts";
import type { BuildState } from "./state.ts";
import { Workspace, type WorkspaceDeps } from "./workspace.ts";

const RUN_LIMIT_MS = 3600_000;
/** Exit code of a shell for a program that does not exist. */
const NOT_FOUND = 127;
const MAX_CAPTURED_BYTES = 1 << 20;

/** The part of a build that runs, for the log and for failures. */
export interface Part {
  /** `base`, a number from 1 on, or `finalize`. */
  readonly step: string;
  /** `builder 2/5`. */
  readonly prefix: string;
}

export interface SessionHold {
  readonly teamId: TeamId;
  readonly signal: AbortSignal;
  readonly pin: Pin;
  /** Removes secrets from a line of the log. */
  readonly mask: (line: string) => string;
}

/** The sandbox in which a build's steps run, one after the other. It is replaced whenever a step needs another image than it holds. */
export class Session {
  private readonly deps: WorkspaceDeps;
  private readonly build: BuildRecord;
  private readonly log: BuildLog;
  readonly signal: AbortSignal;
  /** Holds every layer that the build uses or makes, until the store refers to the result. */
  readonly pin: Pin;
  private readonly teamId: TeamId;
  private readonly mask: SessionHold["mask"];
  private open: { workspace: Workspace; image: ImageRef } | undefined;

  constructor(deps: WorkspaceDeps, build: BuildRecord, log: BuildLog, hold: SessionHold) {
    this.deps = deps;
    this.build = build;
    this.log = log;
    this.signal = hold.signal;
    this.pin = hold.pin;
    this.teamId = hold.teamId;
    this.mask = hold.mask;
  }

  /** A sandbox that holds exactly `image`. */
  async workspace(image: ImageRef): Promise<Workspace> {
    if (this.open && this.open.image.digest === image.digest && !this.open.workspace.isFull) return this.open.workspace;
    await this.close();
    this.open = { workspace: await this.newWorkspace(image), image };
    return this.open.workspace;
  }

  /** Passes `use` a second sandbox, of another image, which is removed when `use` has ended. */
  async beside<T>(image: ImageRef, use: (workspace: Workspace) => Promise<T>): Promise<T> {
    const workspace = await this.newWorkspace(image);
    try {
      return await use(workspace);
    } finally {
      await workspace.close();
    }
  }

  private newWorkspace(image: ImageRef): Promise<Workspace> {
    const { id: buildId, templateId, resources } = this.build;
    return Workspace.open(this.deps, { image, buildId, templateId, teamId: this.teamId, ...resources }, this.signal);
  }

  /** A layer's tar. */
  layerTar(digest: string): Promise<ReadableStream<Uint8Array>> {
    return this.deps.driver.images.exportLayer(digest, { signal: this.signal });
  }

  /** Makes a layer of the changes since `image`, and returns the image with it. */
  async commit(image: ImageRef): Promise<ImageRef> {
    const workspace = await this.workspace(image);
    const committed = await workspace.commit(this.signal);
    await this.keep(committed);
    this.open = { workspace, image: committed };
    return committed;
  }

  /** Pins an image that was just made. Throws `aborted` in the rare case that one of its layers was removed at the same time. */
  async keep(image: ImageRef): Promise<void> {
    this.pin.add(image.layers);
    const present = await Promise.all(image.layers.map((layer) => this.deps.driver.images.hasLayer(layer)));
    if (!present.every(Boolean))
      throw new AppError("aborted", "A layer was removed while the build made it again; start the build again", { reason: "layer_lost" });
  }

  /** Runs a command in a login shell, with its output in the log. Throws `BuildFailure` unless it ends with 0. */
  async run(state: BuildState, command: string, user: string, part: Part): Promise<void> {
    const workspace = await this.workspace(state.image);
    const cutters = { stdout: this.cutter("stdout", part), stderr: this.cutter("stderr", part) };
    const request = {
      cmd: "/bin/bash",
      args: ["-l", "-c", command],
      user,
      cwd: state.workdir,
      envs: await this.environment(state),
      limitMs: RUN_LIMIT_MS,
    };
    const output = { stdout: this.taking(cutters.stdout), stderr: this.taking(cutters.stderr) };
    let failure: string;
    try {
      const { exitCode, status } = await workspace.exec(request, output, this.signal);
      if (exitCode === 0) return;
      failure = exitCode > 0 ? `exit status ${exitCode}` : status;
    } catch (error) {
      this.signal.throwIfAborted();
      failure = `command failed: ${agentProblem(error, user)}`;
    } finally {
      cutters.stdout.end();
      cutters.stderr.end();
    }
    throw new BuildFailure(`failed to run command '${shown(command)}': ${failure}`, part.step);
  }

  /** Runs a script of the server as root and returns its standard output. Throws `BuildFailure` with its standard error. `what` names the act. */
  async script(image: ImageRef, script: string, args: readonly string[], part: Part, what: string): Promise<string> {
    const workspace = await this.workspace(image);
    const texts = { stdout: "", stderr: "" };
    const take = (stream: "stdout" | "stderr") => (bytes: Uint8Array) => {
      if (texts[stream].length < MAX_CAPTURED_BYTES) texts[stream] += Buffer.from(bytes).toString();
    };
    const request = { cmd: "/bin/sh", args: ["-c", script, "sh", ...args], user: "root", cwd: "/", limitMs: RUN_LIMIT_MS };
    const { exitCode, status } = await workspace
      .exec(request, { stdout: take("stdout"), stderr: take("stderr") }, this.signal)
      .catch((error: unknown) => {
        this.signal.throwIfAborted();
        throw new BuildFailure(`${what} failed: ${agentProblem(error, "root")}`, part.step, error);
      });
    if (exitCode === 0) return texts.stdout;
    const said = texts.stderr.trim().split("\n").slice(-5).join("; ").slice(0, 1000);
    const why = said || (exitCode > 0 ? `exit status ${exitCode}` : status);
    const hint = exitCode === NOT_FOUND ? "; an image to build on must have /bin/sh and its usual commands" : "";
    throw new BuildFailure(`${what} failed: ${why}${hint}`, part.step);
  }

  /** The environment of a step. A login shell replaces PATH, so the build's PATH is set again by BASH_ENV. */
  async environment(state: BuildState): Promise<Record<string, string>> {
    const { PATH: path } = state.env;
    if (path === undefined) return { ...state.env };
    const whole = `${path}:${STANDARD_PATH}`;
    const file = `${BUILD_DIRECTORY}/path.sh`;
    const quoted = `'${whole.replaceAll("'", "'\\''")}'`;
    const workspace = await this.workspace(state.image);
    await workspace.putFile(file, `unset BASH_ENV\nexport PATH=${quoted}\n`, this.signal);
    return { ...state.env, PATH: whole, BASH_ENV: file };
  }

  /** Reports something that does not fail the build. */
  warn(part: Part, message: string): void {
    this.log.add(`[${part.prefix}] ${message}`, part.step, "warn");
  }

  /** Cuts output into lines of the log. */
  cutter(stream: "stdout" | "stderr", part: Part, prefix = part.prefix): LineCutter {
    return new LineCutter((line) => this.log.add(`[${prefix}] [${stream}]: ${this.mask(line)}`, part.step));
  }

  /** Passes output to a cutter, and waits while the log has too many pending lines. */
  taking(cutter: LineCutter): TakeOutput {
    return (bytes) => {
      cutter.push(bytes);
      return this.log.room();
    };
  }

  async close(): Promise<void> {
    const { open } = this;
    this.open = undefined;
    await open?.workspace.close();
  }
}

/** Why the agent did not start a command, for the build's failure. */
function agentProblem(error: unknown, user: string): string {
  if (isAppError(error, "unauthenticated")) return `unauthenticated: invalid username: '${user}'`;
  if (isAppError(error)) return `${error.code}: ${error.message}`;
  return "the sandbox of the build could not be reached";
}
