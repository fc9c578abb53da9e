import { isBlockedAddress, type UpstreamProxy } from "@boxyard/driver";
import type { Connection, ConnectionOwner, UpstreamOwner } from "@boxyard/http1";
import { type Attempt, connectToHost, type HostOwner, isAddress, type Target, type Ways } from "./connect.ts";
import { type Greeting, greetingFor } from "./proxy-greeting.ts";
import { tlsWithin } from "./tls-within.ts";

/** Longest time until a proxy has led to the server, in which it connects too. */
const GREETING_MS = 20_000;

/** Reaches a host: through the proxy of the sandbox, or directly where it has none. Never directly where it has one. */
export function reachHost(ways: Ways, proxy: UpstreamProxy | undefined, target: Target, owner: HostOwner): Attempt {
  if (!proxy) return connectToHost(ways, target, owner);
  return new UpstreamWay(ways, proxy, target, owner);
}

/**
 * The way to one host through a proxy. A name that the sandbox may reach is given to the proxy as a name. Where addresses decide, one that is permitted is
 * given. The proxy itself may not be at an address that is closed to every sandbox.
 */
class UpstreamWay implements Attempt, HostOwner, ConnectionOwner {
  private readonly ways: Ways;
  private readonly proxy: UpstreamProxy;
  private readonly target: Target;
  private readonly owner: HostOwner;
  private readonly timer: Timer;
  private attempt: Attempt | undefined;
  private greeting: Greeting | undefined;
  private destination = "";
  private carrier: Connection | undefined;
  private within: Connection | undefined;
  private isOver = false;

  constructor(ways: Ways, proxy: UpstreamProxy, target: Target, owner: HostOwner) {
    this.ways = ways;
    this.proxy = proxy;
    this.target = target;
    this.owner = owner;
    this.timer = setTimeout(() => this.fail(), GREETING_MS);
    const { host, permits } = target;
    const found = isAddress(host) ? [host] : permits ? ways.names.find(host) : undefined;
    if (found === undefined) this.begin(host);
    else if (found instanceof Promise) void found.then((addresses) => this.beginWith(addresses));
    else this.beginWith(found);
  }

  cancel(): void {
    this.end();
    this.attempt?.cancel();
    this.carrier?.destroy();
    this.within?.destroy();
  }

  private beginWith(addresses: readonly string[]): void {
    const { permits = () => true } = this.target;
    const address = addresses.find((one) => permits(one) && !isBlockedAddress(one));
    if (address === undefined) this.onUnreachable();
    else this.begin(address);
  }

  private begin(destination: string): void {
    if (this.isOver) return;
    this.destination = destination;
    const { host, port, tls } = this.proxy;
    const ca = tls?.caCert ?? this.ways.trust();
    const secured = tls && { tls: { serverName: tls.serverName, ...(ca !== undefined && { ca }) } };
    this.attempt = connectToHost(this.ways, { host, port, ...secured, permits: (address) => !isBlockedAddress(address) }, this);
  }

  // The connection to the proxy.

  onReached(carrier: Connection): void {
    this.carrier = carrier;
    if (this.isOver) {
      carrier.destroy();
      return;
    }
    carrier.owner = this;
    this.greeting = greetingFor(this.proxy, { host: this.destination, port: this.target.port });
    carrier.write(this.greeting.first);
  }

  onUnreachable(): void {
    // The owner does not have this attempt yet when it fails at once.
    queueMicrotask(() => this.fail());
  }

  onData(bytes: Buffer): void {
    if (this.isOver || !this.greeting) return;
    try {
      const { send, open, rest } = this.greeting.push(bytes);
      if (send) this.carrier?.write(send);
      if (open) this.opened(rest ?? Buffer.alloc(0));
    } catch {
      this.fail();
    }
  }

  onEnd(): void {
    this.fail();
  }

  onClose(): void {
    this.fail();
  }

  onDrain(): void {}

  private opened(first: Buffer): void {
    const { tls } = this.target;
    const carrier = this.carrier as Connection;
    this.greeting = undefined;
    if (tls) {
      carrier.pause();
      this.within = tlsWithin(this.ways.pool, carrier, { peer: this.destination, tls, first }, this.secured());
      return;
    }
    carrier.peer = this.destination;
    this.reached(carrier);
    if (first.byteLength > 0) carrier.owner?.onData(first);
  }

  private secured(): UpstreamOwner {
    const nothing = () => {};
    return {
      onConnected: () => {
        if (this.within && !this.isOver) this.reached(this.within);
      },
      onConnectFailed: () => this.fail(),
      ...{ onSettled: nothing, onData: nothing, onEnd: nothing, onDrain: nothing, onClose: nothing },
    };
  }

  private reached(connection: Connection): void {
    this.end();
    this.owner.onReached(connection);
  }

  private fail(): void {
    if (this.isOver) return;
    this.cancel();
    this.owner.onUnreachable();
  }

  private end(): void {
    this.isOver = true;
    clearTimeout(this.timer);
  }
}
