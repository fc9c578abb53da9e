import type { FakeCommand, FakeResult } from "@boxyard/driver/fake";
import type { Reply, TestServer } from "./test-server.ts";

/** Helpers for tests of builds over the fake driver. */
export class BuildBench {
  /** Commands of users that ran: RUN steps, start and ready commands. */
  readonly ran: FakeCommand[] = [];
  /** The result of a command; by default every command succeeds. */
  answer: (command: FakeCommand) => FakeResult | Promise<FakeResult> | undefined = () => undefined;
  private readonly server: TestServer;

  constructor(server: TestServer) {
    this.server = server;
    const { world } = server;
    // The base template's layer, which a fake world does not have.
    const digest = `sha256:${"b".repeat(64)}`;
    world.layers.set(digest, { info: { digest, sizeBytes: 1024, createdAt: 1 }, tar: new Uint8Array(1024) });
    world.command = (command) => {
      if (command.cmd === "/bin/bash") this.ran.push(command);
      // Changes a file, because else all layers would be the same.
      for (const sandbox of world.sandboxes.values()) sandbox.files.set(`/${sandbox.files.size}`, command.args.join(" "));
      return this.answer(command) ?? {};
    };
  }

  /** Commands of RUN steps, start and ready commands. */
  get commands(): string[] {
    return this.ran.map(({ args }) => args.at(-1) ?? "");
  }

  async request(name: string, body: object = {}): Promise<{ templateID: string; buildID: string }> {
    return (await this.server.call("POST", "/v3/templates", { name, ...body })).body;
  }

  start(of: { templateID: string; buildID: string }, body: object = {}): Promise<Reply> {
    return this.server.call("POST", `/v2/templates/${of.templateID}/builds/${of.buildID}`, { fromImage: "e2bdev/base", ...body });
  }

  async status(of: { templateID: string; buildID: string }, query = ""): Promise<Reply["body"]> {
    return (await this.server.call("GET", `/templates/${of.templateID}/builds/${of.buildID}/status${query}`)).body;
  }

  /** The whole log, fetched in pages as clients do. */
  async log(of: { templateID: string; buildID: string }): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const { logEntries } = await this.status(of, `?logsOffset=${lines.length}&limit=100`);
      if (logEntries.length === 0) return lines;
      lines.push(...logEntries.map(({ message }: { message: string }) => message));
    }
  }

  /** The status at the end of a build. */
  async ended(of: { templateID: string; buildID: string }): Promise<Reply["body"]> {
    const until = Date.now() + 10_000;
    for (;;) {
      const status = await this.status(of);
      if (status.status === "ready" || status.status === "error") return status;
      if (Date.now() > until) throw new Error(`The build is ${status.status} after 10 s`);
      await Bun.sleep(5);
    }
  }

  /** Requests and starts a build, and waits for its end. */
  async build(name: string, body: object = {}, requested: object = {}) {
    const of = await this.request(name, requested);
    const started = await this.start(of, body);
    if (started.status !== 202) throw new Error(`start answered ${started.status}: ${JSON.stringify(started.body)}`);
    return { of, ...(await this.ended(of)) };
  }
}
