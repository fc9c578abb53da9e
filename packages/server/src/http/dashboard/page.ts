import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import type { ServerConfig } from "../../config.ts";
import { htmlPage, PAGE_HEADERS } from "../../html-page.ts";
import { publicUrl } from "../public-url.ts";
import type { Api } from "../route.ts";
import type { DashboardServices } from "./services.ts";

/** Stands in the page's file for the number of a response, which its scripts and styles must have to be used. */
const NONCE_MARK = "NONCE";
const ASSET = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(js|css|svg|woff2)$/;
const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};
/** How long a browser waits before it asks again whether the files are made. */
const REFRESH_SECONDS = 2;

/** The page of the dashboard, its files, and the way of a browser from `/` to it. */
export function mountPage(app: Api, { config }: Pick<DashboardServices, "config">, files: Files): void {
  app.get("/dashboard/assets/:name", async (c) => {
    const name = c.req.param("name");
    const [, kind = ""] = ASSET.exec(name) ?? [];
    const gzip = kind === "" ? undefined : await readFile(join(await files.directory(), `${name}.gz`)).catch(() => undefined);
    if (!gzip) throw new AppError("not_found", "The dashboard has no such file; reload the page", { reason: "no_such_route" });
    return new Response(gzip, {
      headers: {
        ...ALWAYS,
        "Content-Type": TYPES[kind] ?? "",
        "Content-Encoding": "gzip",
        // For a worker, which has the policy of its own script and not the page's: neither network nor text that becomes code.
        "Content-Security-Policy": "default-src 'none'",
        // A name has the hash of its content.
        "Cache-Control": "public, max-age=31536000, immutable",
      },
    });
  });
  const page = async (header: (name: string) => string | undefined): Promise<Response> => {
    const directory = files.ready();
    if (directory === undefined) return preparing(files.failure);
    const nonce = randomBytes(16).toString("base64");
    const html = (await readFile(join(directory, "index.html"), "utf8")).replaceAll(NONCE_MARK, nonce);
    return new Response(html, { headers: { ...ALWAYS, ...documentHeaders(nonce, portSources(config, header)) } });
  };
  app.get("/dashboard", (c) => page((name) => c.req.header(name)));
  app.get("/dashboard/*", (c) => page((name) => c.req.header(name)));
}

const ALWAYS = {
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
};

/** `ports`: where pages of sandboxes are, which may be shown in a frame. */
function documentHeaders(nonce: string, ports: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' blob:",
    "connect-src 'self'",
    `frame-src ${ports}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policy.join("; "),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
  };
}

/** The host names of sandboxes' ports, as sources of a Content-Security-Policy. */
export function portSources(config: Pick<ServerConfig, "domain" | "publicUrl">, header: (name: string) => string | undefined): string {
  const { protocol, hostname, port } = new URL(publicUrl(config, header));
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  const domain = config.domain ?? (isLoopback ? `localhost${port ? `:${port}` : ""}` : undefined);
  return domain === undefined ? "'none'" : `${protocol}//*.${domain}`;
}

/** The files of the page: made when they are first needed, once for all requests that wait. After a failure the next request tries again. */
export class Files {
  failure: string | undefined;
  private readonly make: () => Promise<string>;
  private made: string | undefined;
  private making: Promise<string> | undefined;

  constructor(make: () => Promise<string>) {
    this.make = make;
  }

  /** The directory, if the files are there; else they are being made from now on. */
  ready(): string | undefined {
    if (this.made === undefined && this.making === undefined) void this.directory().catch(() => {});
    return this.made;
  }

  async directory(): Promise<string> {
    if (this.made !== undefined) return this.made;
    this.making ??= this.make().then(
      (directory) => {
        this.failure = undefined;
        this.made = directory;
        return directory;
      },
      (error: unknown) => {
        this.failure = error instanceof Error ? error.message : String(error);
        this.making = undefined;
        throw error;
      },
    );
    return this.making;
  }
}

/** The page while the files are being made, which takes some seconds in a checkout and happens once for each version. */
function preparing(failure: string | undefined): Response {
  const content =
    failure === undefined
      ? "<h1>The dashboard is being prepared</h1><p>This happens once for each version and takes some seconds. The page opens by itself.</p>"
      : `<h1>The dashboard could not be prepared</h1><p>${Bun.escapeHTML(failure)}</p><p>The page tries again by itself.</p>`;
  const headers = new Headers([...PAGE_HEADERS] as [string, string][]);
  headers.set("Refresh", String(failure === undefined ? REFRESH_SECONDS : REFRESH_SECONDS * 5));
  headers.set("Cache-Control", "no-store");
  return new Response(htmlPage("Boxyard", content), { status: failure === undefined ? 200 : 503, headers });
}
