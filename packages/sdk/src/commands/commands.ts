import { Process, Signal } from "@boxyard/spec/pb/process";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { type CallContext, type ModuleConfig, type ModuleMetadata, scopeFor, streamCallOptions, unary } from "../connection/agent-call.ts";
import { agentError } from "../connection/agent-errors.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { UnsupportedError } from "../errors.ts";
import { atLeast } from "../version.ts";
import { CommandHandle, type ProcessControl } from "./command-handle.ts";
import { CommandExitError, type CommandResult } from "./command-result.ts";
import { connectProcess } from "./connect-process.ts";
import { InputQueue } from "./input-queue.ts";
import { openProcess } from "./process-events.ts";

/** Options of every call of {@link Commands}: `requestTimeoutMs` (default 60000) and `signal`. */
export type CommandRequestOpts = RequestOptions;

export interface CommandStartOpts extends CommandRequestOpts {
  /** True: return a handle at once. False, the default: wait and return the result. */
  readonly background?: boolean | undefined;
  /** Working directory. Default: the home directory of the user. */
  readonly cwd?: string | undefined;
  /** Environment variables; they override those of the sandbox. Default: none. */
  readonly envs?: Readonly<Record<string, string>> | undefined;
  /** Called with each piece of standard error. A returned promise is awaited; an error thrown here is thrown to the caller. */
  readonly onStderr?: ((data: string) => void | Promise<void>) | undefined;
  /** Called with each piece of standard output. A returned promise is awaited; an error thrown here is thrown to the caller. */
  readonly onStdout?: ((data: string) => void | Promise<void>) | undefined;
  /** True: standard input stays open, and `sendStdin` and `closeStdin` work. Default false. */
  readonly stdin?: boolean | undefined;
  /** The command is killed after this many milliseconds; 0 means no limit. Default 60000. */
  readonly timeoutMs?: number | undefined;
  /** Default: the user of the template. */
  readonly user?: string | undefined;
  /** False: `stdout` and `stderr` of the handle and of the result stay empty; use it if you only stream the output. Default true. */
  readonly retainOutput?: boolean | undefined;
  /** A name of your choice; `list` shows it. */
  readonly tag?: string | undefined;
}

/** Options of {@link Commands.connect}. `timeoutMs` limits the connection, not the command. */
export interface CommandConnectOpts extends CommandRequestOpts {
  readonly onStderr?: CommandStartOpts["onStderr"];
  readonly onStdout?: CommandStartOpts["onStdout"];
  /** Default 60000; 0 means no limit. */
  readonly timeoutMs?: number | undefined;
  /** As in {@link CommandStartOpts}. */
  readonly retainOutput?: boolean | undefined;
  /**
   * Sends output again from this byte: the `outputOffset` of an earlier handle, or 0 for all output. The sandbox keeps the last 512 KiB, so the output
   * may begin later; `outputOffset` of the new handle says where. Default: output that no client has received yet.
   */
  readonly fromOffset?: number | undefined;
}

/** A running command or PTY session. */
export interface ProcessInfo {
  readonly pid: number;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Identifies special commands, such as the start command of a template. */
  readonly tag?: string;
}

export const DEFAULT_COMMAND_TIMEOUT_MS = 60_000;
/** Limit for the kill that follows a foreground command whose caller has gone. */
const ABANDON_TIMEOUT_MS = 5000;
const NO_PROCESS = "process_not_found";

/** Runs commands in a sandbox. */
export class Commands {
  private readonly client: Client<typeof Process>;
  private readonly context: CallContext;
  private readonly inputs = new InputQueue();

  /**
   * @param transport - Connect's `Transport`; {@link createSandboxTransport} makes one.
   * @param connectionConfig - Default request timeout and signal.
   * @param metadata - `version` of the sandbox's agent.
   */
  constructor(transport: Transport, connectionConfig: ModuleConfig, metadata: ModuleMetadata) {
    this.client = createClient(Process, transport);
    this.context = { config: connectionConfig, metadata };
  }

  /** Lists all running commands and PTY sessions. */
  async list(opts: CommandRequestOpts = {}): Promise<ProcessInfo[]> {
    const { processes } = await unary(this.context, "list commands", opts, (o) => this.client.list({}, o));
    return processes.map(({ pid, tag, config }) => ({
      pid,
      cmd: config?.cmd ?? "",
      args: config?.args ?? [],
      envs: config?.envs ?? {},
      ...(config?.cwd === undefined ? {} : { cwd: config.cwd }),
      ...(tag === undefined ? {} : { tag }),
    }));
  }

  /** Runs a shell command (`bash -l -c`) in the background. Returns as soon as the command has started. */
  run(cmd: string, opts: CommandStartOpts & { readonly background: true }): Promise<CommandHandle>;
  /**
   * Runs a shell command (`bash -l -c`) and waits for its result.
   *
   * @throws CommandExitError when the exit code is not 0; it carries the result.
   */
  run(cmd: string, opts?: CommandStartOpts & { readonly background?: false | undefined }): Promise<CommandResult>;
  run(cmd: string, opts?: CommandStartOpts): Promise<CommandHandle | CommandResult>;
  async run(cmd: string, opts: CommandStartOpts = {}): Promise<CommandHandle | CommandResult> {
    const argv = ["/bin/bash", "-l", "-c", cmd] as const;
    if (opts.background) return this.start(argv, opts, "soon");
    const handle = await this.start(argv, opts, "now");
    try {
      return await handle.wait();
    } catch (error) {
      if (!(error instanceof CommandExitError)) this.abandon(handle);
      throw error;
    }
  }

  /** Starts a program without a shell, so that every argument arrives unchanged. Returns as soon as the program has started. */
  spawn(argv: readonly [string, ...string[]], opts: Omit<CommandStartOpts, "background"> = {}): Promise<CommandHandle> {
    return this.start(argv, opts, "soon");
  }

  /** Connects to a running command; `wait` of the handle returns its result. The handle first gets the output that no client has received yet. */
  async connect(pid: number, opts: CommandConnectOpts = {}): Promise<CommandHandle> {
    const what = `connect to command ${pid}`;
    const scope = scopeFor(this.context, what, opts);
    const timeoutMs = opts.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS;
    const translate = (error: unknown) => this.translate(error, what, scope, timeoutMs);
    try {
      scope.throwIfEnded();
      const opened = await connectProcess(this.client, { pid, scope, timeoutMs, fromOffset: opts.fromOffset });
      scope.begin();
      const control = this.control(opened.pid);
      const retainOutput = opts.retainOutput ?? true;
      return new CommandHandle({ opened, scope, control, callbacks: opts, retainOutput, owner: false, translate }, "soon");
    } catch (error) {
      scope.abort();
      scope.dispose();
      throw await translate(error);
    }
  }

  /** Kills with SIGKILL. True if the command was killed, false if it was not found. */
  async kill(pid: number, opts: CommandRequestOpts = {}): Promise<boolean> {
    return killProcess(this.client, this.context, pid, opts);
  }

  /** Sends SIGTERM to a command or session. True if the signal was sent, false if there is no such process. */
  async terminate(pid: number, opts: CommandRequestOpts = {}): Promise<boolean> {
    return signalProcess(this.client, this.context, pid, Signal.SIGTERM, opts);
  }

  /** Sends data to the command's standard input. Calls for one command keep their order. */
  async sendStdin(pid: number, data: string | Uint8Array, opts: CommandRequestOpts = {}): Promise<void> {
    const value = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const request = { process: { selector: { case: "pid" as const, value: pid } }, input: { input: { case: "stdin" as const, value } } };
    const options = { ...opts, notFoundReason: NO_PROCESS };
    await this.inputs.run(pid, () =>
      unary(this.context, `send input to command ${pid}`, options, (o) => this.client.sendInput(request, o)),
    );
  }

  /** Signals the end of input; the command must have been started with `stdin: true`. */
  async closeStdin(pid: number, opts: CommandRequestOpts = {}): Promise<void> {
    if (!atLeast(this.context.metadata.version, "0.5.2")) throw tooOld("closeStdin", "0.5.2", this.context.metadata.version);
    const request = { process: { selector: { case: "pid" as const, value: pid } } };
    const options = { ...opts, notFoundReason: NO_PROCESS };
    await this.inputs.run(pid, () =>
      unary(this.context, `close stdin of command ${pid}`, options, (o) => this.client.closeStdin(request, o)),
    );
  }

  private async start(argv: readonly [string, ...string[]], opts: CommandStartOpts, whenToRead: "now" | "soon"): Promise<CommandHandle> {
    const [cmd, ...args] = argv;
    const { version } = this.context.metadata;
    if (opts.stdin === false && !atLeast(version, "0.3.0")) throw tooOld("stdin: false", "0.3.0", version);
    const what = "run command";
    const scope = scopeFor(this.context, what, opts);
    const timeoutMs = opts.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS;
    const translate = (error: unknown) => this.translate(error, what, scope, timeoutMs);
    try {
      scope.throwIfEnded();
      const request = {
        process: { cmd, args, envs: { ...opts.envs }, ...(opts.cwd === undefined ? {} : { cwd: opts.cwd }) },
        // Agents before 0.3.0 know no choice; their stdin is always open.
        ...(atLeast(version, "0.3.0") ? { stdin: opts.stdin ?? false } : {}),
        ...(opts.tag === undefined ? {} : { tag: opts.tag }),
      };
      const opened = await openProcess(this.client.start(request, streamCallOptions(scope, timeoutMs, defaultUser(opts.user, version))));
      scope.begin();
      const control = this.control(opened.pid);
      const retainOutput = opts.retainOutput ?? true;
      return new CommandHandle({ opened, scope, control, callbacks: opts, retainOutput, owner: true, translate }, whenToRead);
    } catch (error) {
      scope.abort();
      scope.dispose();
      throw await translate(error);
    }
  }

  private control(pid: number): ProcessControl {
    return {
      kill: (options) => this.kill(pid, options),
      sendInput: (data, options) => this.sendStdin(pid, data, options),
      closeStdin: (options) => this.closeStdin(pid, options),
    };
  }

  /** Ends a foreground command whose caller has given up. A failure is ignored. */
  private abandon(handle: CommandHandle): void {
    const context = { config: { requestTimeoutMs: ABANDON_TIMEOUT_MS }, metadata: this.context.metadata };
    void killProcess(this.client, context, handle.pid, {}).catch(() => {});
    void handle.disconnect();
  }

  private translate(error: unknown, what: string, scope: Parameters<typeof agentError>[1]["scope"], streamTimeoutMs: number) {
    return agentError(error, { what, scope, streamTimeoutMs, notFoundReason: NO_PROCESS, probe: this.context.metadata.probe });
  }
}

/** Sends SIGKILL; false when there is no such process. */
export function killProcess(client: Client<typeof Process>, context: CallContext, pid: number, opts: RequestOptions): Promise<boolean> {
  return signalProcess(client, context, pid, Signal.SIGKILL, opts);
}

async function signalProcess(
  client: Client<typeof Process>,
  context: CallContext,
  pid: number,
  signal: Signal,
  opts: RequestOptions,
): Promise<boolean> {
  const request = { process: { selector: { case: "pid" as const, value: pid } }, signal };
  try {
    await unary(context, `${signal === Signal.SIGKILL ? "kill" : "terminate"} ${pid}`, { ...opts, notFoundReason: NO_PROCESS }, (o) =>
      client.sendSignal(request, o),
    );
    return true;
  } catch (error) {
    if ((error as { reason?: unknown }).reason === NO_PROCESS) return false;
    throw error;
  }
}

/** Agents before 0.4.0 have no default user. */
export function defaultUser(user: string | undefined, version: string): string | undefined {
  return user ?? (atLeast(version, "0.4.0") ? undefined : "user");
}

function tooOld(operation: string, needed: string, version: string): UnsupportedError {
  const message = `${operation} needs an agent of version ${needed}; this sandbox has ${version}. Build its template again`;
  return new UnsupportedError(message, { code: "unimplemented", reason: "agent_too_old" });
}
