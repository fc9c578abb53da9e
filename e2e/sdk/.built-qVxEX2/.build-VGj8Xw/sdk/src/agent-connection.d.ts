import type { Transport } from "@connectrpc/connect";
import type { ConnectionConfig } from "./config.ts";
/** What is needed to reach one sandbox's agent. */
export interface AgentAddress {
    readonly sandboxId: string;
    /** Token of this sandbox; a server gives it at create and connect. */
    readonly accessToken?: string | undefined;
    /** Base URL, without a slash at the end. */
    readonly baseUrl: string;
}
/** Where a sandbox's agent is reached: routing is by header, so that any server name will do. */
export declare function agentBaseUrl(config: ConnectionConfig): string;
/** Headers that choose the sandbox and prove the right to use it. Headers that a user set for the API are never among them. */
export declare function agentHeaders(address: AgentAddress): Record<string, string>;
/** The transport over which {@link Commands}, {@link Pty} and {@link Files} talk to a sandbox: Connect with JSON, over `fetch`. */
export declare function createSandboxTransport(address: AgentAddress): Transport;
/** How a sandbox is, seen from outside. */
export type SandboxHealth = "running" | "ended" | "unreachable";
/** Asks the sandbox's agent for its health: the way to tell "the sandbox has ended" from "the network failed". Never throws. */
export declare function probeHealth(address: AgentAddress, signal?: AbortSignal): Promise<SandboxHealth>;
