import type { AgentLines as Lines } from "@boxyard/agent-client";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import { type Connection, ResponseReader, type UpstreamOwner, type UpstreamPool } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import { INIT_KEY_HEADER } from "@boxyard/spec/agent";
import { keepMs, upstreamKey } from "./keep.ts";

/**
 * The server's own requests to agents, on the connections that the proxy keeps: the first command of a sandbox finds the connection that its `/init` has
 * opened. Whatever answers may be hostile: only an answer without a body leaves its connection to others.
 */
export class AgentLines implements Lines {
  private readonly pool: UpstreamPool;

  constructor(pool: UpstreamPool) {
    this.pool = pool;
  }

  post(
    { host, agentPort }: AgentAddress,
    of: SandboxHandle,
    path: string,
    { key, body }: { readonly key: string; readonly body: string },
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const head = [`POST ${path} HTTP/1.1`, `Host: ${host}:${agentPort}`, "Content-Type: application/json", `${INIT_KEY_HEADER}: ${key}`];
    const text = `${head.join("\r\n")}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const line = upstreamKey(of.sandboxId, of.incarnation, AGENT_PORT);
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const stop = () => call.end(undefined);
      const call = new Call(Buffer.from(text), (status, connection) => {
        signal.removeEventListener("abort", stop);
        if (connection) this.pool.put(line, connection, keepMs(AGENT_PORT, undefined));
        resolve(status);
      });
      signal.addEventListener("abort", stop, { once: true });
      const kept = this.pool.take(line);
      if (kept) call.useKept(kept);
      else call.connection = this.pool.connect({ host, port: agentPort }, call);
    });
  }
}

/** One request and the head of its answer. */
class Call implements UpstreamOwner {
  connection: Connection | undefined;
  private readonly request: Buffer;
  private readonly onOver: (status: number | undefined, reusable: Connection | undefined) => void;
  private isOver = false;

  constructor(request: Buffer, onOver: (status: number | undefined, reusable: Connection | undefined) => void) {
    this.request = request;
    this.onOver = onOver;
  }

  useKept(connection: Connection): void {
    connection.owner = this;
    this.connection = connection;
    this.onConnected();
  }

  onConnected(): void {
    this.connection?.write(this.request);
  }

  onConnectFailed(): void {
    this.end(undefined);
  }

  onSettled(): void {}
  onDrain(): void {}

  onData(bytes: Buffer): void {
    const { connection } = this;
    if (this.isOver || !connection) return;
    try {
      connection.answers ??= new ResponseReader();
      const answer = connection.answers.read(bytes, "POST");
      if (!answer) return;
      const isWhole = answer.status >= 200 && answer.framing.kind === "none" && connection.answers.rest.byteLength === 0;
      this.end(answer.status, isWhole && answer.keepAlive);
    } catch {
      // It speaks no HTTP.
      this.end(undefined);
    }
  }

  onEnd(): void {
    this.end(undefined);
  }

  onClose(): void {
    this.end(undefined);
  }

  end(status: number | undefined, isReusable = false): void {
    if (this.isOver) return;
    this.isOver = true;
    const { connection } = this;
    if (connection) {
      connection.owner = undefined;
      if (!isReusable) connection.destroy();
    }
    this.onOver(status, isReusable ? connection : undefined);
  }
}
