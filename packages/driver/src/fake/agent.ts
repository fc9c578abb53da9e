import { AppError } from "@boxyard/core";

/** How a fake agent answers `POST /init`: correctly (`ok`), or as a hostile or broken one might. */
export type InitManner = "ok" | "hang" | "error" | "garbage" | "refuse" | "disconnect" | "huge";

/** A command that a fake agent is asked to start. */
export interface FakeCommand {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: string;
  readonly tag?: string;
}

/** How it pretends to end; `error` is one of the protocol's, and the command never ran then. */
export interface FakeResult {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number;
  readonly error?: { readonly code: string; readonly message: string };
}

export type FakeCommands = (command: FakeCommand) => FakeResult | Promise<FakeResult>;

/** An envelope of Connect's streams. */
function frame(flags: number, message: object): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(text.byteLength, 1);
  return Buffer.concat([head, text]);
}

export interface FakeAgentOptions {
  readonly initKey: string;
  readonly manner: () => InitManner;
  /** Gives the result of a command; by default each ends with 0 at once. */
  readonly command?: FakeCommands;
}

/**
 * A small server on its own loopback address that acts as the agent of a sandbox: `/health`, `/init`, `/metrics`, a WebSocket
 * echo on every upgrade, and an echo of anything else (`POST /echo` gives the body back as it comes; other paths describe the request).
 */
export class FakeAgent {
  readonly host: string;
  readonly port: number;
  /** Bodies of the accepted `/init` calls. */
  readonly inits: Record<string, unknown>[] = [];
  /** Bytes of each file that was written, by path. */
  readonly files = new Map<string, number>();
  /** Whether `/freeze` was called without `/unfreeze` since. */
  areCommandsFrozen = false;
  /** Answers `/boxyard/journal`; without it the agent is an older one, which has none. */
  journal: ((after: number) => Response | Promise<Response>) | undefined;
  /** False: `/health` answers at once that the agent is not well. A frozen agent costs its caller the whole time for an answer. */
  isHealthy = true;
  /** How many requests have come while it was frozen. */
  unanswered = 0;
  /** How long ago a command wrote its last output, as `/metrics` says; undefined: never. */
  outputAgeMs: number | undefined;
  private frozen: { wait: Promise<void>; thaw: () => void } | undefined;
  private readonly server: Bun.Server<undefined>;
  private readonly options: FakeAgentOptions;

  constructor(options: FakeAgentOptions) {
    this.options = options;
    this.server = this.listen();
    this.host = this.server.hostname ?? "";
    this.port = this.server.port ?? 0;
  }

  freeze(): void {
    if (this.frozen) return;
    let thaw = () => {};
    const wait = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    this.frozen = { wait, thaw };
  }

  thaw(): void {
    this.frozen?.thaw();
    this.frozen = undefined;
  }

  /** Thaws the commands as the driver does, without a request. */
  thawCommands(): void {
    this.areCommandsFrozen = false;
  }

  /** Ends the agent at once, with every connection it has. */
  async stop(): Promise<void> {
    this.thaw();
    await this.server.stop(true);
  }

  private listen(): Bun.Server<undefined> {
    // Every address of 127.0.0.0/8 is this machine: one per sandbox, as real ones have, so that user ports can be tried too.
    for (let tries = 0; tries < 50; tries++) {
      const [a, b, c] = crypto.getRandomValues(new Uint8Array(3));
      const hostname = `127.${64 + ((a ?? 0) % 128)}.${b}.${1 + ((c ?? 0) % 254)}`;
      try {
        return Bun.serve({
          hostname,
          port: 49983,
          maxRequestBodySize: Number.MAX_SAFE_INTEGER,
          idleTimeout: 30,
          fetch: (request, server) => this.answer(request, server),
          websocket: { message: (socket, message) => void socket.send(message) },
        });
      } catch {
        // Taken: try another.
      }
    }
    throw new AppError("resource_exhausted", "No loopback address is free for a fake agent");
  }

  private async answer(request: Request, server: Bun.Server<undefined>): Promise<Response | undefined> {
    if (this.frozen) {
      this.unanswered += 1;
      await this.frozen.wait;
    }
    const { pathname, search } = new URL(request.url);
    if (request.headers.get("upgrade") === "websocket") {
      const wanted = request.headers.get("sec-websocket-protocol")?.split(",")[0]?.trim();
      if (server.upgrade(request, { data: undefined, ...(wanted ? { headers: { "Sec-WebSocket-Protocol": wanted } } : {}) }))
        return undefined;
    }
    if (pathname === "/health") return new Response(null, { status: this.isHealthy ? 204 : 503 });
    if (pathname === "/init") return this.init(request);
    if (pathname === "/freeze" || pathname === "/unfreeze") return this.stopCommands(pathname === "/freeze");
    if (pathname === "/metrics") {
      const headers: Record<string, string> = this.outputAgeMs === undefined ? {} : { "X-Output-Age-Ms": String(this.outputAgeMs) };
      return Response.json(
        { ts: 1, cpu_count: 2, cpu_used_pct: 12.5, mem_total: 100, mem_used: 50, mem_cache: 10, disk_used: 5, disk_total: 500 },
        { headers },
      );
    }
    if (pathname === "/boxyard/journal" && this.journal) return this.journal(Number(new URL(request.url).searchParams.get("after")));
    if (pathname === "/process.Process/Start") return this.startProcess(request);
    if (pathname === "/files" && request.method === "POST" && request.headers.has("authorization")) return this.takeFile(request);
    if (pathname === "/echo" && request.body) return new Response(request.body);
    const body = await request.text();
    return Response.json({ method: request.method, path: pathname + search, headers: Object.fromEntries(request.headers), body });
  }

  private stopCommands(frozen: boolean): Response {
    this.areCommandsFrozen = frozen;
    return new Response(null, { status: 204 });
  }

  /** Starts no process: output and end of a command are those that the `command` option gives. */
  private async startProcess(request: Request): Promise<Response> {
    const bytes = Buffer.from(await request.arrayBuffer());
    const { process, tag } = JSON.parse(bytes.toString("utf8", 5)) as { process: FakeCommand; tag?: string };
    const user = Buffer.from((request.headers.get("authorization") ?? "").slice(6), "base64")
      .toString()
      .replace(/:$/, "");
    const events = this.options.command?.({ ...process, user, ...(tag === undefined ? {} : { tag }) }) ?? {};
    const end = (result: FakeResult) => {
      if (result.error) return frame(2, { error: result.error });
      const { stdout, stderr, exitCode = 0 } = result;
      const data = [
        ...(stdout === undefined ? [] : [frame(0, { event: { data: { stdout: Buffer.from(stdout).toString("base64") } } })]),
        ...(stderr === undefined ? [] : [frame(0, { event: { data: { stderr: Buffer.from(stderr).toString("base64") } } })]),
      ];
      return Buffer.concat([
        ...data,
        frame(0, { event: { end: { exitCode, exited: true, status: `exit status ${exitCode}` } } }),
        frame(2, {}),
      ]);
    };
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        try {
          controller.enqueue(frame(0, { event: { start: { pid: 2 } } }));
          controller.enqueue(end(await events));
          controller.close();
        } catch {
          // The client has left.
        }
      },
    });
    return new Response(stream, { headers: { "content-type": "application/connect+json" } });
  }

  private async takeFile(request: Request): Promise<Response> {
    const path = new URL(request.url).searchParams.get("path") ?? "";
    this.files.set(path, (await request.bytes()).byteLength);
    return Response.json([{ path, name: path, type: "file" }]);
  }

  private async init(request: Request): Promise<Response> {
    switch (this.options.manner()) {
      case "hang":
        await new Promise(() => {});
        break;
      case "error":
        return new Response("no", { status: 500 });
      case "garbage":
        return new Response("\u0000\u0001<garbage>", { status: 200, headers: { "content-type": "application/json" } });
      case "disconnect":
        await this.server.stop(true);
        break;
      case "refuse":
        return new Response(null, { status: 401 });
      case "huge":
        return new Response(new Uint8Array(64 << 20), { status: 200 });
      case "ok":
    }
    if (request.headers.get("x-init-key") !== this.options.initKey) return new Response(null, { status: 401 });
    this.inits.push((await request.json()) as Record<string, unknown>);
    return new Response(null, { status: 204 });
  }
}
