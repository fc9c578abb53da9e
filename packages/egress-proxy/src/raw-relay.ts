import type { Connection, ConnectionOwner } from "@boxyard/http1";
import { bridge } from "./bridge.ts";
import type { Attempt, HostOwner, Ways } from "./connect.ts";
import { originalDestination } from "./original-destination.ts";
import type { Admitted, Claim, Rules } from "./rules.ts";
import type { Traffic } from "./traffic.ts";
import { reachHost } from "./upstream-way.ts";

export interface RawRelayParts {
  readonly rules: Rules;
  readonly ways: Ways;
  readonly traffic: Pick<Traffic, "allowed" | "denied">;
}

/**
 * One connection of a sandbox whose traffic goes through a proxy, to any port: its bytes pass unchanged to the address that the sandbox asked for, where its
 * policy permits that address. Else it is reset.
 */
export class RawRelay implements ConnectionOwner, Admitted, HostOwner {
  claim: Claim = {};
  private readonly parts: RawRelayParts;
  private readonly address: string;
  private readonly client: Connection;
  private readonly leave: () => void;
  private attempt: Attempt | undefined;
  private server: Connection | undefined;
  private early: Buffer[] = [];
  private hasEnded = false;
  private retire = () => {};
  private isOver = false;

  /** `leave` is called once, when the connection has ended. */
  constructor(parts: RawRelayParts, address: string, client: Connection, leave: () => void) {
    this.parts = parts;
    this.address = address;
    this.client = client;
    this.leave = leave;
    client.owner = this;
  }

  /** To be called once the client's socket is there. */
  begin(): void {
    const { rules, ways, traffic } = this.parts;
    const asked = originalDestination(this.client);
    const proxy = rules.proxyFor(this.address);
    if (!asked || !proxy) {
      this.cut();
      return;
    }
    this.claim = { address: asked.address };
    this.retire = rules.admit(this.address, this);
    if (this.isOver) {
      traffic.denied(undefined);
      return;
    }
    traffic.allowed({});
    this.client.pause();
    this.attempt = reachHost(ways, proxy, { host: asked.address, port: asked.port }, this);
  }

  onReached(server: Connection): void {
    const { client, early } = this;
    this.server = server;
    bridge(client, server);
    const owner = client.owner as ConnectionOwner;
    client.owner = {
      ...owner,
      onClose: () => {
        this.finish();
        owner.onClose();
      },
    };
    this.early = [];
    const isFree = early.map((bytes) => server.write(bytes)).every(Boolean);
    if (this.hasEnded) server.halfClose();
    if (isFree) client.resume();
  }

  onUnreachable(): void {
    this.cut();
  }

  cut(): void {
    this.client.destroy();
    this.server?.destroy();
    this.finish();
  }

  // Until the server is reached.

  onData(bytes: Buffer): void {
    this.early.push(bytes);
    this.client.pause();
  }

  onEnd(): void {
    this.hasEnded = true;
  }

  onDrain(): void {}

  onClose(): void {
    this.finish();
  }

  private finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (!this.server) this.attempt?.cancel();
    this.retire();
    this.leave();
  }
}
