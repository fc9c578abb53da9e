import { Process } from "@boxyard/spec/pb/process";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { CommandHandle, type ProcessControl } from "../commands/command-handle.ts";
import { DEFAULT_COMMAND_TIMEOUT_MS, defaultUser, killProcess } from "../commands/commands.ts";
import { connectProcess } from "../commands/connect-process.ts";
import { InputQueue } from "../commands/input-queue.ts";
import { type OpenProcess, openProcess } from "../commands/process-events.ts";
import { type CallContext, type ModuleConfig, type ModuleMetadata, scopeFor, streamCallOptions, unary } from "../connection/agent-call.ts";
import { agentError } from "../connection/agent-errors.ts";
import type { RequestOptions, RequestScope } from "../connection/request-scope.ts";
import { InvalidArgumentError } from "../errors.ts";

export interface PtySize {
  readonly cols: number;
  /** Default: the present number of rows. */
  readonly rows?: number | undefined;
}

export interface PtyCreateOpts extends RequestOptions {
  readonly cols: number;
  readonly rows: number;
  /** Called with each piece of the terminal's output, in bytes. A returned promise is awaited; `wait` throws an error that is thrown here. */
  readonly onData?: ((data: Uint8Array) => void | Promise<void>) | undefined;
  /** Default: the user of the template. */
  readonly user?: string | undefined;
  /** Environment variables. They override the defaults `TERM=xterm-256color`, `LANG=C.UTF-8` and `LC_ALL=C.UTF-8`. */
  readonly envs?: Readonly<Record<string, string>> | undefined;
  /** Default: the home directory of the user. */
  readonly cwd?: string | undefined;
  /** The session is ended after this many milliseconds; 0 means no limit. Default 60000. */
  readonly timeoutMs?: number | undefined;
  /** The program and its arguments. Default: an interactive login bash. */
  readonly argv?: readonly [string, ...string[]] | undefined;
  /** A name of your choice; `commands.list` shows it. */
  readonly tag?: string | undefined;
}

/** Options of {@link Pty.connect}. `timeoutMs` limits the connection, not the session. */
export interface PtyConnectOpts extends RequestOptions {
  readonly onData?: PtyCreateOpts["onData"];
  /** Default 60000; 0 means no limit. */
  readonly timeoutMs?: number | undefined;
  /** As in {@link CommandConnectOpts}. With 0, a terminal emulator that gets all output shows the screen as it was. */
  readonly fromOffset?: number | undefined;
}

const DEFAULT_ENVS = { TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8" };
const NO_PROCESS = "process_not_found";

/** Runs terminal sessions in a sandbox. */
export class Pty {
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

  /** Starts a session. Returns as soon as it has started. */
  async create(opts: PtyCreateOpts): Promise<CommandHandle> {
    const { version } = this.context.metadata;
    const [cmd, ...args] = opts.argv ?? ["/bin/bash", "-i", "-l"];
    const request = {
      process: { cmd, args, envs: { ...DEFAULT_ENVS, ...opts.envs }, ...(opts.cwd === undefined ? {} : { cwd: opts.cwd }) },
      pty: { size: checkSize({ cols: opts.cols, rows: opts.rows }) },
      ...(opts.tag === undefined ? {} : { tag: opts.tag }),
    };
    return this.open("create terminal", opts, true, (scope, timeoutMs) =>
      openProcess(this.client.start(request, streamCallOptions(scope, timeoutMs, defaultUser(opts.user, version)))),
    );
  }

  /** Connects to a running session. `commands.list` lists the sessions. */
  connect(pid: number, opts: PtyConnectOpts = {}): Promise<CommandHandle> {
    return this.open(`connect to terminal ${pid}`, opts, false, (scope, timeoutMs) =>
      connectProcess(this.client, { pid, scope, timeoutMs, fromOffset: opts.fromOffset }),
    );
  }

  /** Kills with SIGKILL. True if the session was killed, false if it was not found. */
  kill(pid: number, opts: RequestOptions = {}): Promise<boolean> {
    return killProcess(this.client, this.context, pid, opts);
  }

  /** Sets the size of the session's window. */
  async resize(pid: number, size: PtySize, opts: RequestOptions = {}): Promise<void> {
    const request = { process: { selector: { case: "pid" as const, value: pid } }, pty: { size: checkSize(size) } };
    await unary(this.context, `resize terminal ${pid}`, { ...opts, notFoundReason: NO_PROCESS }, (o) => this.client.update(request, o));
  }

  /** Sends input to the terminal. Calls for one session keep their order. */
  async sendInput(pid: number, data: Uint8Array, opts: RequestOptions = {}): Promise<void> {
    const request = {
      process: { selector: { case: "pid" as const, value: pid } },
      input: { input: { case: "pty" as const, value: data } },
    };
    const options = { ...opts, notFoundReason: NO_PROCESS };
    await this.inputs.run(pid, () =>
      unary(this.context, `send input to terminal ${pid}`, options, (o) => this.client.sendInput(request, o)),
    );
  }

  private async open(
    what: string,
    opts: PtyConnectOpts,
    owner: boolean,
    start: (scope: RequestScope, timeoutMs: number) => Promise<OpenProcess>,
  ): Promise<CommandHandle> {
    const scope = scopeFor(this.context, what, opts);
    const streamTimeoutMs = opts.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS;
    const translate = (error: unknown) =>
      agentError(error, { what, scope, streamTimeoutMs, notFoundReason: NO_PROCESS, probe: this.context.metadata.probe });
    try {
      scope.throwIfEnded();
      const opened = await start(scope, streamTimeoutMs);
      scope.begin();
      const control = this.control(opened.pid);
      const callbacks = { onPty: opts.onData };
      return new CommandHandle({ opened, scope, control, callbacks, retainOutput: false, owner, translate }, "soon");
    } catch (error) {
      scope.abort();
      scope.dispose();
      throw await translate(error);
    }
  }

  private control(pid: number): ProcessControl {
    const encoder = new TextEncoder();
    return {
      kill: (options) => this.kill(pid, options),
      sendInput: (data, options) => this.sendInput(pid, typeof data === "string" ? encoder.encode(data) : data, options),
      // A terminal has no end of input of its own: Ctrl-D at the start of a line means it.
      closeStdin: (options) => this.sendInput(pid, Uint8Array.of(4), options),
    };
  }
}

/** The size as the agent takes it: rows that are left out stay as they are. The kernel keeps sizes in 16 bits. */
function checkSize({ cols, rows }: PtySize): { cols: number; rows?: number } {
  const size = rows === undefined ? { cols } : { cols, rows };
  for (const [name, value] of Object.entries(size)) {
    if (!Number.isInteger(value) || value < 1 || value > 65_535) {
      throw new InvalidArgumentError(`${name} must be a whole number from 1 to 65535, not ${value}`, { code: "invalid_argument" });
    }
  }
  return size;
}
