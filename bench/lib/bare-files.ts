/** The least that a Bun server can do with files of the directory in its argument: the body to a file, a file as the body. Prints its port. */
const directory = process.argv[2] ?? "";
const bare = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  async fetch(request) {
    const path = directory + new URL(request.url).pathname;
    if (request.method === "GET") return new Response(Bun.file(path));
    await Bun.write(path, new Response(request.body));
    return new Response("ok");
  },
});
console.log(bare.port);
