import { type FakeAgent, type FakeSandbox, FakeWorld } from "@boxyard/driver/fake";

/** A world whose sandboxes share one agent, which takes every `/init`: 100,000 servers of their own would be what is measured. */
export class ScaleWorld extends FakeWorld implements Disposable {
  private readonly server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(null, { status: 204 }),
  });

  override boot(sandbox: FakeSandbox): void {
    const nothing = () => {};
    const agent = {
      host: "127.0.0.1",
      port: this.server.port,
      stop: async () => {},
      freeze: nothing,
      thaw: nothing,
      thawCommands: nothing,
    };
    sandbox.agent = agent as unknown as FakeAgent;
    sandbox.phase = "running";
  }

  [Symbol.dispose](): void {
    this.sandboxes.clear();
    void this.server.stop(true);
  }
}
