import { type Clock, type SandboxId, systemClock } from "@boxyard/core";
import { type Logger, silentLogger } from "@boxyard/core/node";
import type { ApiHandler } from "../proxy/api-call.ts";
import { Front } from "../proxy/front.ts";
import { type RouteFacts, RouteTable } from "../proxy/route-table.ts";
import { connectRaw, type RawPeer, RawServer } from "./raw.ts";

export const TEST_ID = "i0123456789abcdefghij" as SandboxId;

/** The front with one sandbox. The test plays the server on every port of the sandbox. */
export class TestFront {
  readonly upstream = new RawServer();
  readonly routes: RouteTable;
  readonly front: Front;

  constructor(api: ApiHandler = () => new Response("api"), clock: Clock = systemClock, maxClients?: number, logger: Logger = silentLogger) {
    let front: Front | undefined;
    this.routes = new RouteTable((route) => front?.forget(route));
    front = new Front({
      hostname: "127.0.0.1",
      port: 0,
      routes: this.routes,
      api,
      clock,
      logger,
      ...(maxClients && { maxClients }),
    });
    this.front = front;
    this.route();
  }

  route(change: Partial<RouteFacts> = {}): void {
    this.routes.add({
      sandboxId: TEST_ID,
      incarnation: 1,
      host: "127.0.0.1",
      agentPort: this.upstream.port,
      accessToken: "token",
      ...change,
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.front.port}`;
  }

  client(): Promise<RawPeer> {
    return connectRaw(this.front.port);
  }

  /** Headers of a request to the sandbox; by default to its agent. */
  headers(port = 49983): string {
    return `Host: sandbox.test\r\nSvc-Sandbox-Id: ${TEST_ID}\r\nSvc-Sandbox-Port: ${port}\r\n`;
  }

  /** A port of the sandbox that is not the agent's. */
  get userPort(): number {
    return this.upstream.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.upstream.stop();
    await this.front.close(0);
  }
}
