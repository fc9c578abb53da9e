import {
  type FileContent,
  getFile,
  type ProcessEnd,
  type ProcessOutput,
  type ProcessRequest,
  putFile,
  runProcess,
  startProcess,
  type TakeOutput,
} from "@boxyard/agent-client";
import { AppError, isAppError, type TeamId } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { Pin } from "../../../images/pins.ts";
import type { BuildRecord } from "../../../store/index.ts";
import { BuildFailure, shown } from "../log/build-failure.ts";
import { type BuildLog, LineCutter } from "../log/build-log.ts";
import type { OpenSandbox } from "../ports.ts";
import { BUILD_DIRECTORY, STANDARD_PATH } from "./build-settings.ts";
import { openSandbox, type SessionDeps, withinLimit } from "./open-sandbox.ts";
import type { BuildState } from "./state.ts";

const RUN_LIMIT_MS = 3600_000;
/** Exit code of a shell for a program that does not exist. */
const NOT_FOUND = 127;
/** With more changes than this, the next step gets a new sandbox on the committed layer, because every commit reads all changes again. */
const LARGE_COMMIT_BYTES = 32 << 20;
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

/**
 * The sandbox in which a build's steps run, one after the other. Each call names the image that the sandbox must hold exactly: it is replaced when it holds
 * another one.
 */
export class Session {
  private readonly deps: SessionDeps;
  private readonly build: BuildRecord;
  private readonly log: BuildLog;
  private readonly hold: SessionHold;
  /** `base`: the image that the sandbox was made of, and `image`: with the layers that were committed since. */
  private open: { readonly sandbox: OpenSandbox; readonly base: ImageRef; image: ImageRef; isFull: boolean } | undefined;

  constructor(deps: SessionDeps, build: BuildRecord, log: BuildLog, hold: SessionHold) {
    this.deps = deps;
    this.build = build;
    this.log = log;
    this.hold = hold;
  }

  get signal(): AbortSignal {
    return this.hold.signal;
  }

  /** Holds every layer that the build uses or makes, until the store refers to the result. */
  get pin(): Pin {
    return this.hold.pin;
  }

  /** Passes `use` a second session, whose sandbox holds `image` and is removed when `use` has ended. */
  async beside<T>(image: ImageRef, use: (session: Session) => Promise<T>): Promise<T> {
    const other = new Session(this.deps, this.build, this.log, this.hold);
    try {
      await other.holding(image);
      return await use(other);
    } finally {
      await other.close();
    }
  }

  private async holding(image: ImageRef) {
    if (this.open && this.open.image.digest === image.digest && !this.open.isFull) return this.open;
    await this.close();
    const sandbox = await openSandbox(this.deps, this.build, this.hold.teamId, image, this.signal);
    this.open = { sandbox, base: image, image, isFull: false };
    return this.open;
  }

  /** Runs a command to its end; the build's settings are in its environment. */
  async exec(image: ImageRef, request: ProcessRequest, output: ProcessOutput, signal = this.signal): Promise<ProcessEnd> {
    const { sandbox } = await this.holding(image);
    return runProcess(sandbox.agent, this.withSettings(request), output, signal);
  }

  /** Starts a command and lets it go on. */
  async start(image: ImageRef, request: ProcessRequest, output: ProcessOutput, signal = this.signal) {
    const { sandbox } = await this.holding(image);
    return startProcess(sandbox.agent, this.withSettings(request), output, signal);
  }

  async getFile(image: ImageRef, path: string): Promise<ReadableStream<Uint8Array>> {
    const { sandbox } = await this.holding(image);
    return getFile(sandbox.agent, path, this.signal);
  }

  async putFile(image: ImageRef, path: string, content: FileContent): Promise<void> {
    const { sandbox } = await this.holding(image);
    await putFile(sandbox.agent, path, content, this.signal);
  }

  private withSettings(request: ProcessRequest): ProcessRequest {
    return { ...request, envs: { ...this.deps.settings.env, ...request.envs } };
  }

  /** A layer's tar. */
  layerTar(digest: string): Promise<ReadableStream<Uint8Array>> {
    return this.deps.driver.images.exportLayer(digest, { signal: this.signal });
  }

  /** Makes a layer of the changes since `image`, and returns the image with it. Processes that still run are frozen meanwhile. */
  async commit(image: ImageRef): Promise<ImageRef> {
    const { driver, settings } = this.deps;
    const open = await this.holding(image);
    const layer = await open.sandbox.commit([BUILD_DIRECTORY, ...Object.keys(settings.files)], this.signal);
    const committed = await withinLimit(driver, [...open.base.layers, layer.digest], this.signal);
    await this.keep(committed);
    Object.assign(open, { image: committed, isFull: layer.sizeBytes > LARGE_COMMIT_BYTES });
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
      const { exitCode, status } = await this.exec(state.image, request, output);
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
    const texts = { stdout: "", stderr: "" };
    const take = (stream: "stdout" | "stderr") => (bytes: Uint8Array) => {
      if (texts[stream].length < MAX_CAPTURED_BYTES) texts[stream] += Buffer.from(bytes).toString();
    };
    const request = { cmd: "/bin/sh", args: ["-c", script, "sh", ...args], user: "root", cwd: "/", limitMs: RUN_LIMIT_MS };
    const { exitCode, status } = await this.exec(image, request, { stdout: take("stdout"), stderr: take("stderr") }).catch(
      (error: unknown) => {
        this.signal.throwIfAborted();
        throw new BuildFailure(`${what} failed: ${agentProblem(error, "root")}`, part.step, error);
      },
    );
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
    await this.putFile(state.image, file, `unset BASH_ENV\nexport PATH=${quoted}\n`);
    return { ...state.env, PATH: whole, BASH_ENV: file };
  }

  /** Reports something that does not fail the build. */
  warn(part: Part, message: string): void {
    this.log.add(`[${part.prefix}] ${message}`, part.step, "warn");
  }

  /** Cuts output into lines of the log. */
  cutter(stream: "stdout" | "stderr", part: Part, prefix = part.prefix): LineCutter {
    return new LineCutter((line) => this.log.add(`[${prefix}] [${stream}]: ${this.hold.mask(line)}`, part.step));
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
    await open?.sandbox.close();
  }
}

/** Why the agent did not start a command, for the build's failure. */
function agentProblem(error: unknown, user: string): string {
  if (isAppError(error, "unauthenticated")) return `unauthenticated: invalid username: '${user}'`;
  if (isAppError(error)) return `${error.code}: ${error.message}`;
  return "the sandbox of the build could not be reached";
}
