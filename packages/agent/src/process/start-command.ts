import { statSync } from "node:fs";
import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import type { ProcessConfig } from "@boxyard/spec/agent";
import type { CommandCgroup, CommandCgroups } from "../cgroup/command-cgroups.ts";
import type { AgentState, SystemUser } from "../contracts.ts";
import { resolvePath } from "../files/path/resolve-path.ts";
import type { OomCounter } from "../metrics/oom-counter.ts";
import type { TerminalSize } from "../pty/terminal.ts";
import { closeQuietly, libc } from "../sys/native.ts";
import type { CallTrace } from "../trace.ts";
import { Command } from "./command.ts";
import { endStatusOf, looksKilled } from "./end-status.ts";
import { composeEnvironment, threadsEnvironment } from "./environment.ts";
import type { Launcher } from "./launch/launcher.ts";
import type { OutputShares } from "./output-shares.ts";
import { resolveCommand } from "./shell-fallback.ts";
import { pipeStreams, terminalStreams } from "./streams.ts";

const SIGKILL = 9;

export interface StartOrder {
  readonly config: ProcessConfig;
  readonly user: SystemUser;
  readonly tag: string | undefined;
  /** Size of the terminal it gets; undefined for pipes. */
  readonly terminal: TerminalSize | undefined;
  /** False: standard input is /dev/null. */
  readonly stdin: boolean;
  readonly trace?: CallTrace | undefined;
  /** W3C Trace Context of the client's call, which the command gets as TRACEPARENT. */
  readonly traceparent?: string | undefined;
}

export interface StartDeps {
  readonly state: AgentState;
  readonly clock: Clock;
  readonly cgroups: CommandCgroups;
  readonly oomKills: OomCounter;
  readonly launcher: Launcher;
  readonly shares: OutputShares;
  /** Processors that the sandbox may use at once, a fraction too, as of now: a resize changes it. Undefined: no limit is known. */
  readonly cpuLimit: () => number | undefined;
}

/** Starts a command. A failure leaves neither descriptors nor a cgroup. Throws `invalid_argument` for a bad order, `resource_exhausted` at a limit. */
export async function startCommand(deps: StartDeps, order: StartOrder): Promise<Command> {
  const command = resolveCommand(order.config.cmd, order.config.args);
  checkCommand(command);
  const cwd = workingDirectory(deps.state, order.user, order.config.cwd);
  const traceEnv = order.traceparent === undefined ? undefined : { TRACEPARENT: order.traceparent };
  const sandboxEnv = { ...threadsEnvironment(deps.cpuLimit()), ...deps.state.env, ...traceEnv };
  const env = composeEnvironment(order.user, sandboxEnv, order.config.envs);
  const oomKillsBefore = deps.oomKills.read();
  const unclosed = new Set<number>();
  let cgroup: CommandCgroup | undefined;
  try {
    cgroup = deps.cgroups.create(order.terminal ? "pty" : "user");
    const streams = order.terminal ? terminalStreams(order.terminal, order.user) : pipeStreams(order.stdin, order.user);
    for (const fd of [...streams.theirs, ...streams.ours]) unclosed.add(fd);
    order.trace?.mark("prepared");
    const stdio = streams.stdio;
    const launchOrder = { cgroup: cgroup?.path, user: order.user, cwd, command, env, stdio, terminal: order.terminal !== undefined };
    const { pid, ended } = await deps.launcher.launch(launchOrder, () => {
      // launch has its own copies now; with ours open the output would never end.
      for (const fd of streams.theirs) {
        unclosed.delete(fd);
        closeQuietly(fd);
      }
      order.trace?.mark("spawned");
    });
    order.trace?.mark("started");
    if (order.trace) void ended.then(() => order.trace?.mark("exited"));
    return new Command({
      pid,
      config: order.config,
      tag: order.tag,
      cgroup,
      input: streams.openInput?.(),
      terminal: streams.terminal,
      outputs: streams.outputs,
      ended: ended.then((status) => status ?? endOfLost(pid, cgroup)),
      clock: deps.clock,
      shares: deps.shares,
      describeEnd: (status, wasKilled) => endStatusOf(status, wasKilled ? undefined : oomReason(deps, status, oomKillsBefore)),
    });
  } catch (error) {
    for (const fd of unclosed) closeQuietly(fd);
    // If launch ended after it forked the command, the command runs although no answer came.
    cgroup?.kill();
    cgroup?.remove();
    throw error;
  }
}

/** The status of a command that launch can no longer report: kills the command, and returns SIGKILL. */
function endOfLost(pid: number, cgroup: CommandCgroup | undefined): number {
  // Without a cgroup only the process group can be killed.
  if (!cgroup?.kill()) libc().kill(-pid, SIGKILL);
  return SIGKILL;
}

function oomReason(deps: StartDeps, status: number, before: number | undefined): string | undefined {
  if (before === undefined || !looksKilled(status)) return undefined;
  const now = deps.oomKills.read();
  return now !== undefined && now > before ? "out of memory: the sandbox reached its memory limit" : undefined;
}

function checkCommand(command: readonly string[]): void {
  if (!command[0]) throw new AppError("invalid_argument", "process.cmd must not be empty", { reason: "bad_command" });
  if (command.some((word) => word.includes("\0"))) {
    throw new AppError("invalid_argument", "the command line holds a NUL character", { reason: "bad_command" });
  }
}

/** The working directory, checked as root; launch checks whether the user may enter it. Throws `invalid_argument`. */
function workingDirectory(state: AgentState, user: SystemUser, requested: string | undefined): string {
  const cwd = resolvePath(state, user, requested ?? "");
  const stat = statSync(cwd, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return cwd;
  // A missing home is no error of the request: the program then starts in /, as after a login.
  if (!stat && (requested ?? "") === "" && !state.defaultWorkdir) return "/";
  const why = stat ? "is not a directory" : "does not exist";
  throw new AppError("invalid_argument", `cwd '${cwd}' ${why}`, { reason: "bad_cwd" });
}
