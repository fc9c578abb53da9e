import {
  canonicalHost,
  type EdgePolicy,
  edgeHostFor,
  edgeSecretsFor,
  type HostPolicy,
  hostRuleFinder,
  isOpenedAtEdge,
  isOpenedFor,
  parseRange,
  type UpstreamProxy,
} from "@boxyard/driver";
import { formsOf } from "./masker.ts";
import type { Edit } from "./transform.ts";

/** What a connection was admitted for. It is cut when its sandbox's policy no longer allows that. */
export interface Claim {
  /** Name of the host, as `canonicalHost` gives it. */
  readonly host?: string | undefined;
  /**
   * IPv4 address that was asked for, where the policy may permit it whatever the name is. Of a request that comes by an opened connection: the server's, and
   * none before one is chosen among the permitted.
   */
  readonly address?: string | undefined;
  /** Whether TLS is opened for the host; undefined where that does not matter. */
  readonly isOpened?: boolean;
  /** It passes although a recording is in use, which has no exchanges of its protocol: TLS stays closed unless it is opened for another reason. */
  readonly isUnkept?: boolean;
  /** The connection ends in this process, which decides about each of its requests. */
  readonly endsHere?: boolean;
}

export interface Admitted {
  readonly claim: Claim;
  cut(): void;
}

/** Connections that one sandbox may have through the proxy, those included that have not said their host yet. */
const MAX_CONNECTIONS = 512;
/** The same for all sandboxes together: each takes two descriptors. */
const MAX_ALL = 6000;

const NOTHING: HostPolicy = { hosts: [], ranges: [] };

/** What one sandbox may reach, and its connections. */
class SandboxRules {
  readonly admitted = new Set<Admitted>();
  connections = 0;
  /** Grows with each change, so that a connection to a server is kept for requests under one policy only. */
  generation = 0;
  /** What the secrets of the sandbox look like, which no recording may have. */
  secretForms: readonly Buffer[] = [];
  private policy = NOTHING;
  private ruleOf: (host: string) => string | undefined = () => undefined;

  /** Replaces the policy and cuts what it does not allow; everything, when it leads through another proxy, or none. */
  set(policy: HostPolicy): void {
    const isElsewhere = !Bun.deepEquals(this.proxy, policy.edge?.proxy);
    this.policy = policy;
    this.ruleOf = hostRuleFinder(policy.hosts);
    this.secretForms = policy.recording && policy.edge ? formsOf(valuesOf(policy.edge)) : [];
    this.generation += 1;
    for (const connection of [...this.admitted]) if (isElsewhere || !this.permits(connection.claim)) connection.cut();
  }

  /** The proxy through which all connections go. */
  get proxy(): UpstreamProxy | undefined {
    return this.policy.edge?.proxy;
  }

  /** Whether connections to any address may be permitted by that address. */
  get asksForAddress(): boolean {
    return this.policy.edge !== undefined || this.policy.recording !== undefined;
  }

  /** A recording answers its requests. */
  get isAnswered(): boolean {
    return this.policy.recording?.mode === "replay";
  }

  /** The entry of the hosts that allows this one. */
  entryFor(host: string): string | undefined {
    return this.policy.edge?.isWithheld ? undefined : this.ruleOf(host);
  }

  allowsAddress(address: string): boolean {
    const number = parseRange(address)?.first;
    if (number === undefined || this.policy.edge?.isWithheld) return false;
    return this.policy.ranges.some(({ first, last }) => first <= number && number <= last);
  }

  /** What is done to requests to a host; undefined: nothing, and TLS stays closed. */
  editFor(host: string): Edit | undefined {
    const { edge } = this.policy;
    if (!isOpenedFor(this.policy, host)) return undefined;
    if (!edge) return { host: undefined, secrets: [] };
    return { host: edgeHostFor(edge.hosts, host), secrets: edgeSecretsFor(edge, host) };
  }

  /** Whether rules or secrets are for a host. */
  isAtEdge(host: string): boolean {
    return this.policy.edge !== undefined && isOpenedAtEdge(this.policy.edge, host);
  }

  permits({ host, address, isOpened, isUnkept, endsHere }: Claim): boolean {
    const isEdge = host !== undefined && (isUnkept ? this.isAtEdge(host) : this.editFor(host) !== undefined);
    if (isOpened !== undefined && isOpened !== isEdge) return false;
    if (this.policy.edge?.isWithheld) return false;
    const { recording } = this.policy;
    if (recording?.mode === "replay" && (endsHere || !recording.passes)) return endsHere === true;
    if (host !== undefined && this.ruleOf(host) !== undefined) return true;
    return address === undefined ? isOpened === true && this.policy.ranges.length > 0 : this.allowsAddress(address);
  }
}

const valuesOf = ({ hosts, secrets = [] }: EdgePolicy): readonly string[] => [
  ...hosts.flatMap(({ masked = [] }) => masked),
  ...secrets.map(({ value }) => value),
];

/** The rules of all sandboxes by their address, and the connections that were admitted by them. */
export class Rules {
  private readonly sandboxes = new Map<string, SandboxRules>();
  private connections = 0;

  /** Replaces the rules of a sandbox and cuts what they do not allow. Without a policy the sandbox is forgotten. */
  set(address: string, policy?: HostPolicy): void {
    const sandbox = this.sandboxes.get(address) ?? new SandboxRules();
    sandbox.set(policy ?? NOTHING);
    if (policy) this.sandboxes.set(address, sandbox);
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
    return host !== undefined && this.entryFor(address, host) !== undefined ? host : undefined;
  }

  /** The entry of a sandbox's hosts that allows this one, whose name is as rules compare it; undefined: none does. */
  entryFor(address: string, host: string): string | undefined {
    return this.sandboxes.get(address)?.entryFor(host);
  }

  /** Whether a recording answers the requests of a sandbox. */
  isAnswered(address: string): boolean {
    return this.sandboxes.get(address)?.isAnswered ?? false;
  }

  /** Whether the policy of a sandbox may permit a connection by the address that was asked for. */
  asksForAddress(address: string): boolean {
    return this.sandboxes.get(address)?.asksForAddress ?? false;
  }

  /** Whether a sandbox may reach a server at this address whatever its name is. */
  allowsAddress(address: string, server: string): boolean {
    return this.sandboxes.get(address)?.allowsAddress(server) ?? false;
  }

  permits(address: string, claim: Claim): boolean {
    return this.sandboxes.get(address)?.permits(claim) ?? false;
  }

  /** What is done to the requests of a sandbox to a host; undefined: nothing, and TLS stays closed. */
  editFor(address: string, host: string): Edit | undefined {
    return this.sandboxes.get(address)?.editFor(host);
  }

  /** Whether a sandbox has rules or secrets for a host. */
  isAtEdge(address: string, host: string): boolean {
    return this.sandboxes.get(address)?.isAtEdge(host) ?? false;
  }

  /** The proxy through which all connections of a sandbox go. */
  proxyFor(address: string): UpstreamProxy | undefined {
    return this.sandboxes.get(address)?.proxy;
  }

  /** What the secrets of a sandbox look like. */
  secretForms(address: string): readonly Buffer[] {
    return this.sandboxes.get(address)?.secretForms ?? [];
  }

  generation(address: string): number {
    return this.sandboxes.get(address)?.generation ?? 0;
  }

  /** Registers a connection until the returned function is called. Cuts it at once when the rules have changed meanwhile. */
  admit(address: string, connection: Admitted): () => void {
    const sandbox = this.sandboxes.get(address);
    if (!sandbox?.permits(connection.claim)) {
      connection.cut();
      return () => {};
    }
    sandbox.admitted.add(connection);
    return () => sandbox.admitted.delete(connection);
  }
}
