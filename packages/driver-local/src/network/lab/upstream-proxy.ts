import { readLines } from "./lines.ts";

/** For tests: a proxy in a network namespace, a program of Python's: SOCKS5 or HTTP CONNECT, with a password or without, by TLS or without. */
export interface LabProxy {
  /** Where it was asked to lead, `host:port`, in order. */
  readonly asked: string[];
  stop(): Promise<void>;
}

export interface LabProxyOptions {
  readonly protocol: "socks5" | "http";
  readonly address: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  /** Files of its certificate. */
  readonly cert?: string;
  readonly key?: string;
  /** Addresses of the names that it resolves. */
  readonly names: Readonly<Record<string, string>>;
}

const PROGRAM = `import asyncio, base64, json, ssl, sys
o = json.loads(sys.argv[1])
def say(text): print(text, flush=True)
async def pipe(r, w):
    try:
        while data := await r.read(65536):
            w.write(data)
            await w.drain()
        w.write_eof() if w.can_write_eof() else w.close()
    except OSError: w.close()
async def lead(host, port, r, w, good, bad):
    say(f"{host}:{port}")
    try: r2, w2 = await asyncio.open_connection(o["names"].get(host, host), port)
    except OSError: return w.write(bad)
    w.write(good)
    await asyncio.gather(pipe(r, w2), pipe(r2, w))
    w2.close()
async def socks(r, w):
    _, count = await r.readexactly(2)
    method = 2 if o.get("username") else 0
    if method not in await r.readexactly(count): return w.write(b"\\x05\\xff")
    w.write(bytes([5, method]))
    if method == 2:
        await r.readexactly(1)
        given = [(await r.readexactly((await r.readexactly(1))[0])).decode() for _ in range(2)]
        good = given == [o["username"], o["password"]]
        w.write(bytes([1, 0 if good else 1]))
        if not good: return
    kind = (await r.readexactly(4))[3]
    if kind == 1: host = ".".join(map(str, await r.readexactly(4)))
    else: host = (await r.readexactly((await r.readexactly(1))[0])).decode()
    port = int.from_bytes(await r.readexactly(2), "big")
    await lead(host, port, r, w, b"\\x05\\0\\0\\x03\\x05bound\\0\\1", b"\\x05\\x05\\0\\x01\\0\\0\\0\\0\\0\\0")
async def connect(r, w):
    line, *fields = (await r.readuntil(b"\\r\\n\\r\\n")).decode().split("\\r\\n")
    if o.get("username"):
        basic = base64.b64encode((o["username"] + ":" + o["password"]).encode()).decode()
        if "Proxy-Authorization: Basic " + basic not in fields: return w.write(b"HTTP/1.1 407 No\\r\\nContent-Length: 0\\r\\n\\r\\n")
    host, port = line.split(" ")[1].rsplit(":", 1)
    await lead(host, int(port), r, w, b"HTTP/1.1 200 Yes\\r\\n\\r\\n", b"HTTP/1.1 502 No\\r\\n\\r\\n")
async def handle(r, w):
    try: await (connect if o["protocol"] == "http" else socks)(r, w)
    except (OSError, asyncio.IncompleteReadError): pass
    w.close()
async def main():
    context = None
    if o.get("cert"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(o["cert"], o["key"])
    server = await asyncio.start_server(handle, o["address"], o["port"], ssl=context)
    say("ready")
    await server.serve_forever()
asyncio.run(main())`;

/** Starts it in the namespace with this descriptor; resolves when it listens. */
export async function startLabProxy(namespace: number, options: LabProxyOptions): Promise<LabProxy> {
  const enter = ["nsenter", `--net=/proc/${process.pid}/fd/${namespace}`];
  const child = Bun.spawn([...enter, "python3", "-c", PROGRAM, JSON.stringify(options)], { stdout: "pipe", stderr: "ignore" });
  const asked: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  void readLines(child.stdout, (line) => (line === "ready" ? resolve() : asked.push(line)));
  void child.exited.then(() => reject(new Error("the proxy of the test has ended")));
  await promise;
  return {
    asked,
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
