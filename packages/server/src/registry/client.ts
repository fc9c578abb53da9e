import { AppError, type ErrorCode } from "@boxyard/core";
import { Authenticator } from "./auth.ts";
import type { Login } from "./login.ts";
import type { ImageReference } from "./reference.ts";
import type { RequestOptions, Transport } from "./transport.ts";

const MAX_REDIRECTS = 5;
const MAX_ERROR_BYTES = 64 * 1024;

/** A client for one repository of a registry (distribution specification). */
export class RegistryClient {
  readonly registry: string;
  readonly repository: string;
  readonly transport: Transport;
  private readonly auth: Authenticator;

  constructor(reference: Pick<ImageReference, "registry" | "repository">, login: Login | undefined, transport: Transport) {
    this.registry = reference.registry;
    this.repository = reference.repository;
    this.transport = transport;
    this.auth = new Authenticator(reference.registry, login, transport);
  }

  /** The address of a resource of the repository; `path`: such as `manifests/latest`. */
  url(path: string): URL {
    return new URL(`/v2/${this.repository}/${path}`, this.transport.baseUrl(this.registry));
  }

  /** The `Location` of an answer, which may be relative. Throws `failed_precondition` for another host: requests to it have the credentials of the registry. */
  locationOf(response: Response, from: URL): URL {
    const location = response.headers.get("location");
    const url = location === null || !URL.canParse(location, from) ? undefined : new URL(location, from);
    if (url?.host !== from.host) throw this.unexpected("gives an upload an address that is not its own", "failed_precondition");
    // A registry behind a proxy that ends TLS may give an address with `http:`.
    url.protocol = from.protocol;
    return url;
  }

  /** Sends a request, with authentication if the registry asks for it. Follows redirects of a GET, to other hosts without credentials. `more`: further scopes. */
  async request(url: URL, access: "pull" | "push", options: RequestOptions, more: readonly string[] = []): Promise<Response> {
    const scopes = [`repository:${this.repository}:${access === "push" ? "pull,push" : "pull"}`, ...more];
    const scope = scopes.join(" ");
    let response = await this.send(url, options, this.auth.known(scope));
    const challenge = response.headers.get("www-authenticate");
    if (response.status === 401 && challenge !== null) {
      const answer = await this.auth.answer(scope, challenge, options.signal);
      if (answer !== undefined) {
        await response.body?.cancel();
        response = await this.send(url, options, answer);
      }
    }
    return response;
  }

  private async send(url: URL, options: RequestOptions, authorization: string | undefined): Promise<Response> {
    let at = url;
    // Dropped at a redirect to another origin, also for a later redirect to this one.
    let credentials: Record<string, string> = authorization === undefined ? {} : { authorization };
    for (let hop = 0; ; hop++) {
      const headers = { ...options.headers, ...credentials };
      const response = await this.transport.fetch(at, { ...options, headers, from: this.registry });
      const location = response.headers.get("location");
      const redirected = response.status >= 301 && response.status <= 308 && response.status !== 304 && location !== null;
      if (!redirected || (options.method ?? "GET") !== "GET") return response;
      await response.body?.cancel();
      if (hop === MAX_REDIRECTS || !URL.canParse(location, at)) throw this.unexpected("redirects too often, or to no address");
      const next = new URL(location, at);
      if (next.origin !== at.origin) credentials = {};
      at = next;
    }
  }

  /** The error that an answer without success means. `what`: what was asked for, as in "… does not have <what>". */
  async failure(response: Response, what: string): Promise<AppError> {
    const { status } = response;
    const text = (await this.transport.text(response, MAX_ERROR_BYTES).catch(() => "")).slice(0, 500);
    const details = { status, registry: this.registry, answer: text };
    const name = `${this.registry}/${this.repository}`;
    if (status === 401 || status === 403) {
      return new AppError("permission_denied", `${this.registry} refuses access to ${this.repository}: check name and credentials`, {
        reason: "registry_denied",
        details,
      });
    }
    if (status === 404) return new AppError("not_found", `${name} does not have ${what}`, { reason: "image_not_found", details });
    if (status === 429) {
      return new AppError("resource_exhausted", `${this.registry} limits how often it is asked; try later, or with credentials`, {
        reason: "registry_busy",
        details,
      });
    }
    const code = status >= 500 ? "unavailable" : "failed_precondition";
    return new AppError(code, `${name}: ${what}: the registry answers ${status}`, { reason: "registry_answer", details });
  }

  /** An answer against the protocol. `code`: `unavailable` if the next try may go better. */
  private unexpected(what: string, code: ErrorCode = "unavailable"): AppError {
    return new AppError(code, `The registry ${this.registry} ${what}`, { reason: "registry_answer" });
  }
}
