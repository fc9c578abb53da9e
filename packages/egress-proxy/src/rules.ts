import { canonicalHost, hostMatcher } from "@boxyard/driver";

/** A connection that was admitted for a host, and is cut when its sandbox may no longer reach that host. */
export interface Admitted {
  readonly host: string;
  cut(): void;
}

/** Connections that one sandbox may have through the proxy, those included that have not said their host yet. */
const MAX_CONNECTIONS = 512;
/** The same for all sandboxes together: each takes two descriptors. */
const MAX_ALL = 6000;

/** What one sandbox may reach, and its connections. */
class SandboxRules {
  allows: (host: string) => boolean = () => false;
  readonly admitted = new Set<Admitted>();
  connections = 0;
}

/** The rules of all sandboxes by their address, and the connections that were admitted by them. */
export class Rules {
  private readonly sandboxes = new Map<string, SandboxRules>();
  private connections = 0;

  /** Replaces the rules of a sandbox and cuts what they do not allow. Without hosts the sandbox is forgotten. */
  set(address: string, hosts: readonly string[]): void {
    const sandbox = this.sandboxes.get(address) ?? new SandboxRules();
    sandbox.allows = hostMatcher(hosts);
    for (const connection of [...sandbox.admitted]) if (!sandbox.allows(connection.host)) connection.cut();
    if (hosts.length > 0) this.sandboxes.set(address, sandbox);
    else this.sandboxes.delete(address);
  }

  /** Takes a place for a connection of a sandbox; returns the function that leaves it. Undefined: the sandbox has no rules, or too many connections. */
  enter(address: string): (() => void) | undefined {
    const sandbox = this.sandboxes.get(address);
    if (!sandbox || sandbox.connections >= MAX_CONNECTIONS || this.connections >= MAX_ALL) return undefined;
    sandbox.connections += 1;
    this.connections += 1;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      sandbox.connections -= 1;
      this.connections -= 1;
    };
  }

  /** The name of the host as rules compare it, if the sandbox may reach it. */
  allowed(address: string, name: string | undefined): string | undefined {
    const host = name === undefined ? undefined : canonicalHost(name);
    return host !== undefined && this.sandboxes.get(address)?.allows(host) ? host : undefined;
  }

  /** Registers a connection until the returned function is called. Cuts it at once when the rules have changed meanwhile. */
  admit(address: string, connection: Admitted): () => void {
    const sandbox = this.sandboxes.get(address);
    if (!sandbox?.allows(connection.host)) {
      connection.cut();
      return () => {};
    }
    sandbox.admitted.add(connection);
    return () => sandbox.admitted.delete(connection);
  }
}
