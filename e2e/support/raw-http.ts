import { connect } from "node:net";

export interface RawRequest {
  readonly method: string;
  /** Goes into the request line as it is. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One HTTP/1.1 exchange on a plain socket, for what no HTTP client would send. Resolves with status and everything after the head. */
export function rawRequest(baseUrl: string, request: RawRequest): Promise<{ status: number; body: string }> {
  const { hostname, port, host } = new URL(baseUrl);
  const body = request.body ?? "";
  const headers = { Host: host, Connection: "close", "Content-Length": `${Buffer.byteLength(body)}`, ...request.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${request.method} ${request.path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`),
    );
    socket.setTimeout(15_000, () => socket.destroy(new Error(`no answer to ${request.method} ${request.path} within 15 s`)));
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
    socket.on("error", reject);
    socket.on("close", () => {
      const text = Buffer.concat(chunks).toString();
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
      resolve({ status, body: text.slice(text.indexOf("\r\n\r\n") + 4) });
    });
  });
}
