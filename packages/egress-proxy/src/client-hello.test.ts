import { expect, test } from "bun:test";
import { MAX_HELLO_BYTES, parseClientHello } from "./client-hello.ts";

/** The first bytes that Bun's own TLS client sends to a server of this name. */
async function helloFor(serverName: string, ALPNProtocols?: string): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (_socket, bytes) => resolve(Buffer.from(bytes)) },
  });
  const tls = { serverName, rejectUnauthorized: false, ...(ALPNProtocols && { ALPNProtocols }) };
  Bun.connect({ hostname: "127.0.0.1", port: server.port, tls, socket: { data() {}, error() {} } }).catch(() => {});
  const bytes = await promise;
  server.stop(true);
  return bytes;
}

const named = (serverName: string | undefined, offersHttp2 = false, offersHttp1 = true) =>
  ({ kind: "hello", serverName, offersHttp2, offersHttp1 }) as const;

test("finds the server name that a real client sends, and none in a message without extensions", async () => {
  const bytes = await helloFor("allowed.example");
  expect(parseClientHello(bytes)).toEqual(named("allowed.example"));
  const old = Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32), Buffer.from([0, 0, 2, 0x13, 1, 1, 0])]);
  const message = Buffer.concat([Buffer.from([1, 0, 0, old.byteLength]), old]);
  expect(parseClientHello(Buffer.concat([Buffer.from([22, 3, 1, 0, message.byteLength]), message]))).toEqual(named(undefined));
});

test("finds whether HTTP/2 and HTTP/1.1 are offered", async () => {
  for (const [offered, offersHttp2, offersHttp1] of [
    ["\x02h2\x08http/1.1", true, true],
    ["\x08http/1.1\x02h2", true, true],
    ["\x08http/1.1", false, true],
    ["\x02h2", true, false],
    ["\x03h2c\x02h3", false, false],
  ] as const)
    expect(parseClientHello(await helloFor("allowed.example", offered))).toEqual(named("allowed.example", offersHttp2, offersHttp1));
});

test("waits at every cut of the message, and never takes a part for the whole", async () => {
  const bytes = await helloFor("allowed.example");
  for (let end = 0; end < bytes.byteLength; end++) expect([end, parseClientHello(bytes.subarray(0, end))]).toEqual([end, { kind: "more" }]);
});

test("joins a message that is spread over records", async () => {
  const bytes = await helloFor("allowed.example");
  const message = bytes.subarray(5);
  const records = [];
  for (let at = 0; at < message.byteLength; at += 7) {
    const part = message.subarray(at, at + 7);
    records.push(Buffer.from([22, 3, 1, 0, part.byteLength]), part);
  }
  expect(parseClientHello(Buffer.concat(records))).toEqual(named("allowed.example"));
});

test("refuses other protocols, records without content, too long messages and two names", async () => {
  const bytes = await helloFor("allowed.example");
  const bad = [
    Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    Buffer.from([23, 3, 3, 0, 1, 0]),
    Buffer.from([22, 3, 1, 0, 0]),
    Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255]),
    Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]),
    Buffer.from([22, 2, 1, 0, 4, 1, 0, 0, 0]),
    Buffer.concat([bytes.subarray(0, 9), Buffer.alloc(bytes.byteLength - 9, 255)]),
  ];
  expect(bad.map((sent) => parseClientHello(sent).kind)).toEqual(bad.map(() => "bad"));
  const endless = Buffer.concat(Array.from({ length: 20 }, () => Buffer.concat([Buffer.from([22, 3, 1, 4, 0]), Buffer.alloc(1024, 1)])));
  expect(endless.byteLength).toBeGreaterThan(MAX_HELLO_BYTES);
  expect(parseClientHello(endless).kind).toBe("bad");
});

test("random changes of a message throw nothing", async () => {
  const bytes = await helloFor("allowed.example");
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 5000; round++) {
    const changed = Buffer.from(bytes);
    for (let i = 0; i < 3; i++) changed[random(changed.byteLength)] = random(256);
    expect(["more", "bad", "hello"]).toContain(parseClientHello(changed.subarray(0, random(changed.byteLength + 1))).kind);
  }
});
