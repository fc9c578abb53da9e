import { rm } from "node:fs/promises";
import { FakeWorld } from "@boxyard/driver/fake";
import type { AnyOperation } from "../sandboxes/engine/operation.ts";
import { type AnyTransition, pointsOf } from "../sandboxes/engine/transition.ts";
import { TestServer, type TestServerOptions } from "./test-server.ts";

/** A machine and a data directory whose server can be killed and started again. For tests. */
export class Place {
  readonly world = new FakeWorld();
  private dataDir: string | undefined;
  private servers: TestServer[] = [];

  async boot(options: TestServerOptions = {}): Promise<TestServer> {
    const server = await TestServer.start({ world: this.world, ...(this.dataDir ? { dataDir: this.dataDir } : {}), ...options });
    this.dataDir = server.config.dataDir;
    this.servers.push(server);
    return server;
  }

  /** Ends the server as `kill -9` does: transitions in progress do not go on. */
  async crash(server: TestServer): Promise<void> {
    await server.server.close(0);
    this.servers = this.servers.filter((other) => other !== server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.servers) await server.stop();
    await this.world.clear();
    if (this.dataDir) await rm(this.dataDir, { recursive: true, force: true });
  }
}

export type When = "before" | "after";

/**
 * On which sides of a point of a transition or operation a test injects a fault. Nothing happens between the end of a point and the next one
 * (`runSteps`), so after a point is also before the next: each place is tried once.
 */
export const sidesOf = (point: string, of: AnyTransition | AnyOperation): readonly When[] =>
  point === pointsOf(of)[0] ? ["before", "after"] : ["after"];

/** An observer that holds a transition at the named point for ever. `reached` resolves when the transition is there. */
export function holdAt(point: string, when: When = "before") {
  const reached = Promise.withResolvers<void>();
  const hook = (name: string) => {
    if (name !== point) return undefined;
    reached.resolve();
    return new Promise<void>(() => {});
  };
  return { observer: { [when]: hook }, reached: reached.promise };
}
