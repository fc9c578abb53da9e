import { AGENT_PORT } from "@boxyard/spec";
import { type AgentAddress, agentBaseUrl } from "../connection/agent-connection.ts";
import type { ApiClient } from "../connection/api-client.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { fileUrl } from "./file-url.ts";
import { domainOf, fetchPort, type PortAccess, type PortFetchOpts, portAccess, portUrl } from "./port-access.ts";
import { getPortUrl, type PortUrlOptions, revokePortUrls, type SignedPortUrl } from "./port-links.ts";
import type { SandboxAccess } from "./sandbox-info.ts";
import type { FileUrlOpts } from "./sandbox-options.ts";

/** How a sandbox's ports and files are reached from outside. Every {@link Sandbox} has these. */
export abstract class SandboxPorts {
  readonly sandboxId: string;
  /** Value of the header `e2b-traffic-access-token`, which requests to the sandbox's ports need if the ports are not public. */
  readonly trafficAccessToken: string | undefined;
  protected readonly api: ApiClient;
  protected readonly address: AgentAddress;
  private readonly domain: string | undefined;

  protected constructor(api: ApiClient, access: SandboxAccess) {
    this.api = api;
    this.sandboxId = access.sandboxId;
    this.trafficAccessToken = access.trafficAccessToken;
    this.domain = access.domain;
    this.address = { sandboxId: access.sandboxId, accessToken: access.accessToken, baseUrl: agentBaseUrl(api.config) };
  }

  /**
   * Sends a request to a port of the sandbox. As with `fetch`, an answer of any status is returned (502 while no program listens on the port). The
   * request goes to the server's own address, so it needs no name below `localhost` or of a wildcard domain.
   *
   * @param path - Path and query; begins with `/`.
   * @throws ConnectionError if the server does not answer, AbortError if `signal` aborts.
   */
  fetch(port: number, path: string, opts: PortFetchOpts = {}): Promise<Response> {
    return fetchPort(this.portAccess(port), port, path, opts);
  }

  /** Base URL and headers with which any HTTP or WebSocket client reaches a port of the sandbox through the server's own address. */
  portAccess(port: number): PortAccess {
    return portAccess(this.address, port, this.trafficAccessToken);
  }

  /**
   * Base URL of a port of the sandbox below the server's own address, without a slash at the end. Clients need neither headers nor a host name of the
   * sandbox. The program on the port must work below a path prefix (relative links); see docs/contract/routing.md, "A port by its path". If the ports
   * are not public, requests still need the traffic token in a header ({@link SandboxPorts.portAccess}).
   */
  portUrl(port: number): string {
    const { sandboxUrl, apiUrl } = this.api.config;
    return portUrl(sandboxUrl ?? apiUrl, this.sandboxId, port);
  }

  /** Host name of a port of the sandbox, for clients outside. Use it with `http://` if the URL of the API begins so, else with `https://`. */
  getHost(port: number): string {
    return `${port}-${this.sandboxId}.${this.domain ?? domainOf(this.api.config)}`;
  }

  /**
   * Base URL of a port of the sandbox, with the scheme of the API, for browsers and for machines that resolve the name. Node and Python do not
   * resolve names below `localhost`: use {@link SandboxPorts.fetch} there, or a wildcard domain.
   */
  getUrl(port: number): string {
    return `${new URL(this.api.config.apiUrl).protocol}//${this.getHost(port)}`;
  }

  /**
   * A link to one port, for others: with it a browser or program reaches this port of this sandbox until it expires, without the traffic token, and no
   * other port. See docs/contract/routing.md, "Links to private ports". Throws `InvalidArgumentError` for the agent's port.
   */
  getPortUrl(port: number, opts: PortUrlOptions = {}): Promise<SignedPortUrl> {
    return getPortUrl(this.api, this.sandboxId, port, opts);
  }

  /** Withdraws all links to a port, at once, and cuts what they have open. */
  revokePortUrls(port: number, opts: RequestOptions = {}): Promise<void> {
    return revokePortUrls(this.api, this.sandboxId, port, opts);
  }

  /** A URL from which anyone can download this file. */
  downloadUrl(path: string, opts: FileUrlOpts = {}): Promise<string> {
    return this.fileUrl("read", path, opts);
  }

  /**
   * A URL to which anyone can POST this file: its bytes with `Content-Type: application/octet-stream`, or a form (`multipart/form-data`) with
   * the part `file`. Without `path`, any file can be sent as a form; the file name in the form is its path.
   */
  uploadUrl(path?: string, opts: FileUrlOpts = {}): Promise<string> {
    return this.fileUrl("write", path, opts);
  }

  private async fileUrl(operation: "read" | "write", path: string | undefined, opts: FileUrlOpts): Promise<string> {
    // With a domain the host name says which sandbox; without one the server finds it by the signature.
    const { sandboxUrl, apiUrl, domain } = this.api.config;
    const base = sandboxUrl ?? ((this.domain ?? domain) ? this.getUrl(AGENT_PORT) : apiUrl);
    return fileUrl(base, { operation, path, accessToken: this.address.accessToken }, opts);
  }
}
