/** A server outside, in a process of its own: HTTPS at the address in the first argument with the certificate in the second and third, and a body of so many bytes; prints when it listens. */
const [hostname = "", cert = "", key = "", bytes = ""] = process.argv.slice(2);
const BODY = new Uint8Array(Number(bytes));

Bun.serve({
  hostname,
  port: 443,
  tls: { cert: Bun.file(cert), key: Bun.file(key) },
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  async fetch(request) {
    if (request.url.endsWith("/large")) return new Response(BODY);
    if (!request.url.endsWith("/sink")) return new Response("ok");
    let bytes = 0;
    for await (const chunk of request.body ?? []) bytes += chunk.byteLength;
    return new Response(String(bytes));
  },
});
console.log("listens");
