import { existsSync, readFileSync } from "node:fs";
import { AppError, isAppError } from "@boxyard/core";
import { isLoopback } from "./reference.ts";

/** Where distributions keep the authorities that the machine trusts, an administrator's own included. */
const CA_FILES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];
/** How long a registry may be silent before its answer begins. */
const ANSWER_MS = 60_000;
/** What is sent goes out at least so fast, or the way is given up. */
const LEAST_BYTES_PER_MS = 50;

/** The machine's proxy knows nothing of this machine's own addresses. Bun takes `false` for none, which its types do not say. */
const NO_PROXY = { proxy: false as unknown as string };

export interface TransportOptions {
  /** Certificates in PEM form to trust; the machine's by default. */
  readonly ca?: string;
  /** Registries that may be spoken to without TLS, beside loopback. */
  readonly plainHttp?: readonly string[];
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: BodyInit;
  readonly signal: AbortSignal;
}

/**
 * HTTP as registries are reached from this machine: its certificate authorities, and its proxy (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, which
 * Bun's `fetch` follows by itself). Redirects are the caller's: credentials must not follow them.
 */
export class Transport {
  private readonly ca: string | undefined;
  private readonly plainHttp: readonly string[];

  constructor(options: TransportOptions = {}) {
    this.ca = options.ca ?? machineAuthorities();
    this.plainHttp = options.plainHttp ?? [];
  }

  baseUrl(registry: string): URL {
    const scheme = isLoopback(registry) || this.plainHttp.includes(registry) ? "http" : "https";
    return new URL(`${scheme}://${registry}/`);
  }

  async fetch(url: URL, options: RequestOptions): Promise<Response> {
    const { signal, ...init } = options;
    signal.throwIfAborted();
    // Only until the answer begins: its body may take hours.
    const silence = new AbortController();
    const sentBytes = init.body instanceof Uint8Array ? init.body.byteLength : 0;
    const timer = setTimeout(() => silence.abort(), ANSWER_MS + sentBytes / LEAST_BYTES_PER_MS);
    try {
      return await fetch(url, {
        ...init,
        redirect: "manual",
        // Never unpacked on the way: digests are of the bytes as they are.
        decompress: false,
        signal: AbortSignal.any([signal, silence.signal]),
        ...(this.ca !== undefined && url.protocol === "https:" && { tls: { ca: this.ca } }),
        ...(isLoopback(url.host) && NO_PROXY),
      });
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw new AppError("unavailable", `${url.host} cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`, {
        reason: "registry_unreachable",
        cause,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** A short body. More than `maxBytes` is `unavailable`, reason `registry_answer`. */
  async bytes(response: Response, maxBytes: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const part of response.body ?? []) {
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

function machineAuthorities(): string | undefined {
  const file = CA_FILES.find((path) => existsSync(path));
  return file === undefined ? undefined : readFileSync(file, "utf8");
}
