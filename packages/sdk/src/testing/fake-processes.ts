import { type ChildProcess, spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import { endStream, envelope, sendConnectError, sendJson } from "./fake-wire.ts";

/** The agent's words for signals. */
const SIGNALS: Readonly<Record<string, string>> = { SIGKILL: "killed", SIGTERM: "terminated", SIGINT: "interrupt" };

interface StartRequest {
  readonly process: { readonly cmd: string; readonly args?: string[]; readonly envs?: Record<string, string>; readonly cwd?: string };
  readonly stdin?: boolean;
  readonly pty?: { readonly size: { readonly cols: number; readonly rows: number } };
  readonly tag?: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly request: StartRequest;
}

interface ByPid {
  readonly process: { readonly pid: number };
}

/** The process service of a fake agent, over real processes of this machine. A "PTY" is a pair of pipes. */
export class FakeProcesses {
  private readonly running = new Map<number, Running>();

  killAll(): void {
    for (const { child } of this.running.values()) child.kill("SIGKILL");
  }

  /** Answers one call; handlers return nothing of interest. */
  handle(method: string, request: IncomingMessage, body: Buffer, response: ServerResponse): unknown {
    if (method === "Start") return this.start(JSON.parse(body.subarray(5).toString()) as StartRequest, request, response);
    if (method === "Connect") return this.connect(JSON.parse(body.subarray(5).toString()) as ByPid, response);
    if (method === "List") return sendJson(response, 200, { processes: [...this.running.values()].map(listed) });
    const call = JSON.parse(body.toString()) as ByPid & { input?: { stdin?: string; pty?: string } };
    const target = this.running.get(call.process.pid);
    if (!target) return sendConnectError(response, 404, "not_found", `process with pid ${call.process.pid} not found`);
    if (method === "SendSignal") target.child.kill("SIGKILL");
    else if (method === "CloseStdin") target.child.stdin?.end();
    else if (method === "SendInput") target.child.stdin?.write(Buffer.from(call.input?.stdin ?? call.input?.pty ?? "", "base64"));
    else if (method !== "Update") return sendConnectError(response, 501, "unimplemented", method);
    sendJson(response, 200, {});
  }

  private start(start: StartRequest, request: IncomingMessage, response: ServerResponse): unknown {
    const { cmd, args = [], envs, cwd } = start.process;
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/nowhere", WHO: request.headers.authorization ?? "", ...envs };
    // Without this machine's login files: they start processes, and have no part in what the client does.
    const here = cmd === "/bin/bash" ? args.filter((arg) => arg !== "-l") : args;
    // A process group of its own, as in a sandbox.
    const child = spawn(cmd, here, { env, cwd, detached: true, stdio: [start.stdin === false ? "ignore" : "pipe", "pipe", "pipe"] });
    child.stdin?.on("error", () => {});
    const pid = child.pid as number;
    this.running.set(pid, { child, request: start });
    child.once("close", () => this.running.delete(pid));
    const limit = Number(request.headers["connect-timeout-ms"] ?? 0);
    if (limit) setTimeout(() => child.kill("SIGKILL"), limit).unref();
    return stream(pid, child, start.pty !== undefined, response);
  }

  private connect(call: ByPid, response: ServerResponse): unknown {
    const target = this.running.get(call.process.pid);
    if (target) return stream(call.process.pid, target.child, target.request.pty !== undefined, response);
    response.writeHead(200, { "Content-Type": "application/connect+json" });
    response.end(endStream({ code: "not_found", message: `process with pid ${call.process.pid} not found` }));
  }
}

function listed({ child, request }: Running): Record<string, unknown> {
  return { config: request.process, pid: child.pid, ...(request.tag ? { tag: request.tag } : {}) };
}

function stream(pid: number, child: ChildProcess, pty: boolean, response: ServerResponse): unknown {
  response.writeHead(200, { "Content-Type": "application/connect+json" });
  response.write(envelope({ event: { start: { pid } } }));
  const send = (member: string, source: NodeJS.ReadableStream | null) => {
    const onData = (chunk: Buffer) => {
      const ready = response.write(envelope({ event: { data: { [member]: chunk.toString("base64") } } }));
      if (ready || response.destroyed) return;
      source?.pause();
      response.once("drain", () => source?.resume());
    };
    source?.on("data", onData);
    response.once("close", () => {
      source?.off("data", onData);
      source?.resume();
    });
  };
  send(pty ? "pty" : "stdout", child.stdout);
  send(pty ? "pty" : "stderr", child.stderr);
  child.once("close", (code, signal) => {
    const status = signal ? `signal: ${SIGNALS[signal] ?? signal}` : `exit status ${code}`;
    const error = code === 0 ? {} : { error: status };
    response.write(envelope({ event: { end: { exitCode: code ?? -1, exited: !signal, status, ...error } } }));
    response.end(endStream());
  });
  return response;
}
