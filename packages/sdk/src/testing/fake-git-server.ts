import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A git server for tests: repositories of a directory over HTTP, by `git http-backend`, behind Basic authentication. */
export async function startGitServer(directory: string, user: string, password: string): Promise<{ url: string; stop(): Promise<void> }> {
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const server = createServer((request, response) => {
    if (request.headers.authorization !== expected) {
      return response.writeHead(401, { "WWW-Authenticate": 'Basic realm="git"' }).end();
    }
    const url = new URL(request.url ?? "/", "http://git");
    const child = spawn("git", ["http-backend"], {
      env: {
        PATH: "/usr/bin:/bin",
        GIT_PROJECT_ROOT: directory,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? "",
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: String(request.headers["content-encoding"] ?? ""),
        GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        REMOTE_USER: user,
        REMOTE_ADDR: "127.0.0.1",
      },
    });
    request.pipe(child.stdin);
    child.stdin.on("error", () => {});
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.on("close", () => {
      const output = Buffer.concat(chunks);
      const headEnd = output.indexOf("\r\n\r\n");
      const lines = output.subarray(0, headEnd).toString().split("\r\n");
      const fields = new Map(lines.map((line) => line.split(": ", 2) as [string, string]));
      response.statusCode = Number.parseInt(fields.get("Status") ?? "200", 10);
      for (const [name, value] of fields) if (name !== "Status" && value !== undefined) response.setHeader(name, value);
      response.end(output.subarray(headEnd + 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
