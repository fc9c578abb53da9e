/** A plain server on loopback, in a process of its own; prints its port. Stands for a program in a sandbox. */
const GIB = new Uint8Array(2 ** 30);

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  async fetch(request) {
    if (request.url.endsWith("/gib")) return new Response(GIB);
    if (!request.url.endsWith("/sink")) return new Response("ok");
    let bytes = 0;
    for await (const chunk of request.body ?? []) bytes += chunk.byteLength;
    return new Response(String(bytes));
  },
});
console.log(server.port);
