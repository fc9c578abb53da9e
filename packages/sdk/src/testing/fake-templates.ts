interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

const TEMPLATE = {
  templateID: "t1",
  buildID: "b1",
  buildStatus: "ready",
  names: ["app"],
  lastSpawnedAt: null,
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};
const PAGE = 2;

/** The template routes of the platform API (docs/contract/templates.md), for unit tests: every build has a log of three lines. */
export class FakeTemplates {
  seen: Seen[] = [];
  uploads: { headers: Headers; bytes: Uint8Array }[] = [];
  /** What the last build was started with. */
  started: unknown;
  hash = "";
  present = false;
  /** Whether the server has lost the templates' files. */
  lost = false;
  end: { status: string; reason?: unknown } = { status: "ready" };
  /** What `PATCH` has set. */
  private settings: Record<string, unknown> = {};
  private server: Bun.Server<undefined> | undefined;

  start(): string {
    this.server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => this.answer(request) });
    return `http://127.0.0.1:${this.server.port}`;
  }

  async stop(): Promise<void> {
    await this.server?.stop(true);
  }

  reset(): void {
    this.seen = [];
    this.uploads = [];
    this.present = false;
    this.lost = false;
    this.settings = {};
    this.end = { status: "ready" };
  }

  private get template() {
    const template = { ...TEMPLATE, ...this.settings };
    return this.lost ? { ...template, buildStatus: "error", filesMissing: true } : template;
  }

  private async answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { method } = request;
    const path = decodeURIComponent(url.pathname);
    if (path === "/upload") {
      this.uploads.push({ headers: request.headers, bytes: await request.bytes() });
      this.seen.push({ method, path, body: undefined });
      return new Response(null, { status: 201 });
    }
    const text = await request.text();
    const body: unknown = text ? JSON.parse(text) : undefined;
    this.seen.push({ method, path, body });
    return this.route(method, path, url, body as Record<string, unknown>);
  }

  private route(method: string, path: string, url: URL, body: Record<string, unknown>): Response {
    if (path === "/v3/templates") {
      return Response.json({ templateID: "t1", buildID: "b1", names: [body.name], tags: body.tags ?? [] }, { status: 202 });
    }
    const [, hash] = /^\/templates\/t1\/files\/(.*)$/.exec(path) ?? [];
    if (hash) {
      this.hash = hash;
      return Response.json({ present: this.present, url: `${url.origin}/upload`, headers: { "X-Extra": "yes" } }, { status: 201 });
    }
    if (path === "/v2/templates/t1/builds/b1") {
      this.started = body;
      return new Response(null, { status: 202, headers: { "Content-Length": "0" } });
    }
    if (path === "/templates/t1/builds/b1/status") return this.status(Number(url.searchParams.get("logsOffset")));
    if (path === "/v2/templates") {
      const next = url.searchParams.get("nextToken");
      const headers: Record<string, string> = next ? {} : { "X-Next-Token": "2" };
      return Response.json([{ ...this.template, names: [next ? "other" : "app"] }], { headers });
    }
    if (path === "/templates/aliases/taken") return Response.json({ code: 403, message: "not yours" }, { status: 403 });
    if (path === "/templates/aliases/app" || path === "/templates/aliases/code-interpreter")
      return Response.json({ templateID: "t1", public: false });
    if (path === "/templates/t1/tags") return Response.json([{ tag: "default", buildID: "b1", createdAt: TEMPLATE.createdAt }]);
    if (path === "/templates/tags") return method === "DELETE" ? new Response(null, { status: 204 }) : Response.json({}, { status: 201 });
    if (path === "/v2/templates/t1" && method === "PATCH") {
      this.settings = { ...this.settings, ...body };
      return Response.json({ names: ["app"] });
    }
    if (path === "/templates/t1" && method === "GET") return Response.json(this.template);
    if (path === "/templates/t1" || path.endsWith("/cancel")) return new Response(null, { status: 204 });
    return Response.json({ code: 404, message: "nothing" }, { status: 404 });
  }

  private status(offset: number): Response {
    const all = [0, 1, 2].map((i) => ({ timestamp: "2026-01-01T00:00:00Z", level: "info", message: `line ${i}`, step: "1" }));
    return Response.json({ templateID: "t1", buildID: "b1", logs: [], logEntries: all.slice(offset, offset + PAGE), ...this.end });
  }
}
