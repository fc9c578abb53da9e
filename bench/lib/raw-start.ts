import type { AgentUnderTest } from "../../e2e/agent/support/agent-access.ts";
import { callHeaders, envelope } from "../../e2e/agent/support/rpc.ts";
import type { StartMessage } from "../../e2e/agent/support/run.ts";

const END_OF_BODY = "0\r\n\r\n";

/** One kept connection that sends the same Start request to an agent repeatedly. The client does almost no work, so the measured time is the agent's. */
export class RawStarts {
  private readonly socket: Bun.Socket<undefined>;
  private readonly request: Uint8Array;
  private answer = "";
  private lost: Error | undefined;
  private done: (error?: Error) => void = () => {};

  private constructor(socket: Bun.Socket<undefined>, request: Uint8Array) {
    this.socket = socket;
    this.request = request;
  }

  static async open(agent: AgentUnderTest, message: StartMessage): Promise<RawStarts> {
    const { hostname, port } = new URL(agent.baseUrl);
    let starts: RawStarts | undefined;
    const lost = () => starts?.lose();
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: { data: (_socket, bytes) => starts?.take(bytes), close: lost, error: lost },
    });
    socket.setNoDelay(true);
    starts = new RawStarts(socket, requestOf(agent, message));
    return starts;
  }

  /** Starts the command and resolves at the end of the answer. Throws when it did not end with status 0. */
  async run(): Promise<void> {
    if (this.lost) throw this.lost;
    this.answer = "";
    await new Promise<void>((resolve, reject) => {
      this.done = (error) => (error ? reject(error) : resolve());
      this.socket.write(this.request);
    });
    if (!this.answer.includes('"exited":true') || this.answer.includes('"exitCode"')) throw new Error(`the command failed: ${this.answer}`);
  }

  close(): void {
    this.done = () => {};
    this.socket.end();
  }

  private lose(): void {
    this.lost = new Error("the agent closed the connection");
    this.done(this.lost);
  }

  private take(bytes: Buffer): void {
    this.answer += bytes.toString("latin1");
    if (this.answer.endsWith(END_OF_BODY)) this.done();
  }
}

function requestOf(agent: AgentUnderTest, message: StartMessage): Uint8Array {
  const body = envelope(message);
  const fields = { Host: "agent", "Content-Length": String(body.length), ...callHeaders(agent, "application/connect+json", {}) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST /process.Process/Start HTTP/1.1\r\n${lines.join("")}\r\n`), body]);
}
