import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { AppError, type Clock, isAppError, later, systemClock, within } from "@boxyard/core";
import { FetchPolicy } from "./fetch-policy.ts";
import { hostOf } from "./reference.ts";

/** Where distributions keep the certificate authorities that the machine trusts, with those of its administrator. */
const CA_FILES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];
const ANSWER_MS = 60_000;
/** A request with a body may take longer, by the time that its body takes at this rate. */
const LEAST_BYTES_PER_MS = 50;

/** With `false` Bun uses no proxy, not even that of the environment. Its types do not allow it. */
const NO_PROXY = false as unknown as string;

export interface TransportOptions {
  /** Certificate authorities to trust, in PEM form; the machine's by default. */
  readonly ca?: string;
  /** Which addresses are allowed; public addresses with TLS by default. */
  readonly fetchPolicy?: FetchPolicy;
  /** How long a registry may be silent before its answer begins, and within a short answer; 60 s by default. */
  readonly silenceMs?: number;
  readonly clock?: Clock;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: BodyInit;
  readonly signal: AbortSignal;
}

export interface FetchOptions extends RequestOptions {
  /** The registry that led to the address: an address that it names is trusted no more than the registry itself. */
  readonly from: string;
}

/**
 * HTTP requests to registries, with the machine's certificate authorities and its proxy, to addresses that `FetchPolicy` allows. Redirects are not
 * followed: the caller follows them without credentials.
 */
export class Transport {
  private readonly ca: string | undefined;
  private readonly silenceMs: number;
  readonly clock: Clock;
  readonly fetchPolicy: FetchPolicy;

  constructor(options: TransportOptions = {}) {
    this.ca = options.ca ?? machineAuthorities();
    this.fetchPolicy = options.fetchPolicy ?? new FetchPolicy();
    this.clock = options.clock ?? systemClock;
    this.silenceMs = options.silenceMs ?? ANSWER_MS;
  }

  baseUrl(registry: string): URL {
    return new URL(`${this.fetchPolicy.schemeOf(registry)}://${hostOf(registry)}/`);
  }

  async fetch(url: URL, options: FetchOptions): Promise<Response> {
    const { signal, from, ...init } = options;
    signal.throwIfAborted();
    // Only until the answer begins: its body may take hours.
    const silence = new AbortController();
    const sentBytes = init.body instanceof Uint8Array ? init.body.byteLength : 0;
    const cancel = later(this.silenceMs + sentBytes / LEAST_BYTES_PER_MS, () => silence.abort(), this.clock);
    try {
      return await this.send(url, from, { ...init, signal: AbortSignal.any([signal, silence.signal]) });
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      if (isAppError(cause)) throw cause;
      throw new AppError("unavailable", `${url.host} cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`, {
        reason: "registry_unreachable",
        cause,
      });
    } finally {
      cancel();
    }
  }

  /** Sends to the addresses that were checked, one after the other until one accepts the connection. */
  private async send(url: URL, from: string, init: RequestInit & { readonly signal: AbortSignal }): Promise<Response> {
    const addresses = await this.fetchPolicy.addressesOf(url, from, init.signal);
    if (addresses === undefined) return fetch(url, { ...init, ...this.common(url) });
    for (const [i, address] of addresses.entries()) {
      try {
        return await fetch(atAddress(url, address), { ...init, ...this.common(url), ...pinned(url, init.headers, this.ca) });
      } catch (error) {
        // A body that is a stream cannot be sent again.
        if (i === addresses.length - 1 || !isUnconnected(error) || init.body instanceof ReadableStream) throw error;
      }
    }
    throw new RangeError("no address");
  }

  private common(url: URL): BunFetchRequestInit {
    return {
      redirect: "manual",
      // Digests are of the bytes as they are sent.
      decompress: false,
      proxy: this.fetchPolicy.proxyOf(url) ?? NO_PROXY,
      ...(this.ca !== undefined && url.protocol === "https:" && { tls: { ca: this.ca } }),
    };
  }

  /** Reads a short body. Throws `unavailable`: reason `registry_answer` for more than `maxBytes`, `registry_unreachable` for an incomplete one. */
  async bytes(response: Response, maxBytes: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const part of unlessSilent(response.body, this.silenceMs)) {
        length += part.length;
        if (length > maxBytes) throw new AppError("unavailable", "The registry's answer is too long", { reason: "registry_answer" });
        parts.push(part);
      }
    } catch (cause) {
      if (isAppError(cause)) throw cause;
      throw new AppError("unavailable", "The registry's answer broke off", { reason: "registry_unreachable", cause });
    }
    return new Uint8Array(Buffer.concat(parts));
  }

  async text(response: Response, maxBytes: number): Promise<string> {
    return new TextDecoder().decode(await this.bytes(response, maxBytes));
  }
}

/** The pieces of a body; throws when none comes for `ms`. */
async function* unlessSilent(body: ReadableStream<Uint8Array> | null, ms: number): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), ms, () => new Error("nothing came"));
      if (done) return;
      yield value;
    }
  } finally {
    // Also closes the connection. Fails for a body that was read to its end, where nothing is left to cancel.
    reader.cancel().catch(() => {});
  }
}

/** Options for a request to one of the host's addresses: the Host and the certificate stay those of the URL. */
function pinned(url: URL, headers: RequestInit["headers"], ca: string | undefined): BunFetchRequestInit {
  const tls = { ...(ca !== undefined && { ca }), serverName: url.hostname };
  // Kept connections are found by their address, and the next request to it may be for another name.
  return { headers: { ...(headers as Record<string, string>), host: url.host }, tls, keepalive: false };
}

function atAddress(url: URL, address: string): URL {
  const at = new URL(url);
  at.hostname = isIPv6(address) ? `[${address}]` : address;
  return at;
}

const isUnconnected = (error: unknown): boolean =>
  /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(String((error as { code?: unknown }).code));

function machineAuthorities(): string | undefined {
  const file = CA_FILES.find((path) => existsSync(path));
  return file === undefined ? undefined : readFileSync(file, "utf8");
}
