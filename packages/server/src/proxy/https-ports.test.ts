import { afterAll, beforeAll, expect, test } from "bun:test";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createPlain } from "node:net";
import { createServer as createTls } from "node:tls";
import { testCertificate } from "../testing/certificate.ts";
import { TEST_ID, TestFront } from "../testing/front.ts";

const certificate = testCertificate();
let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer(certificate, (request, response) => {
    if (request.method === "POST") request.pipe(response);
    else response.end(`${request.headers.host} ${request.url}`);
  });
  server.on("upgrade", (_request, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    socket.pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

const headers = (to: number) => ({ "Svc-Sandbox-Id": TEST_ID, "Svc-Sandbox-Port": String(to) });

test("speaks TLS to the ports that are named, and to no other", async () => {
  await using front = new TestFront();
  front.route({ httpsPorts: [port] });
  for (let round = 0; round < 3; round++) {
    const answer = await fetch(`${front.url}/x?y=1`, { headers: headers(port) });
    expect([answer.status, await answer.text()]).toEqual([200, `127.0.0.1:${front.front.port} /x?y=1`]);
  }
  front.route({ httpsPorts: [] });
  expect((await fetch(front.url, { headers: headers(port) })).status).not.toBe(200);
});

test("passes large bodies in both directions, byte for byte", async () => {
  await using front = new TestFront();
  front.route({ httpsPorts: [port] });
  const body = Buffer.alloc(8 << 20, "0123456789abcdef-");
  const answer = await fetch(front.url, { method: "POST", headers: headers(port), body });
  expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
});

test("passes upgrades", async () => {
  await using front = new TestFront();
  front.route({ httpsPorts: [port] });
  const client = await front.client();
  client.send(`GET / HTTP/1.1\r\n${front.headers(port)}Connection: Upgrade\r\nUpgrade: echo\r\n\r\n`);
  await client.includes("101 Switching Protocols");
  client.send("through the tunnel");
  await client.includes("through the tunnel");
});

test("a server that speaks no TLS, and one that ends the connection, are closed ports", async () => {
  const plain = createPlain((socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
  const leaving = createPlain((socket) => socket.destroy());
  await using front = new TestFront();
  for (const wrong of [plain, leaving]) {
    wrong.listen(0, "127.0.0.1");
    await once(wrong, "listening");
    const at = (wrong.address() as AddressInfo).port;
    front.route({ httpsPorts: [at] });
    const answer = await fetch(front.url, { headers: headers(at) });
    expect([answer.status, await answer.json()]).toMatchObject([502, { message: "The sandbox is running but port is not open", port: at }]);
    wrong.close();
  }
});

test("a sandbox that ends before TLS has begun takes the connection along", async () => {
  const ended = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const silent = createPlain((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => asked.resolve());
    socket.once("close", () => ended.resolve());
  });
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const at = (silent.address() as AddressInfo).port;
  await using front = new TestFront();
  front.route({ httpsPorts: [at] });
  const client = await front.client();
  client.send(`GET / HTTP/1.1\r\n${front.headers(at)}\r\n`);
  await asked.promise;
  front.routes.remove(TEST_ID);
  expect(await client.includes("}")).toContain("The sandbox was not found");
  await ended.promise;
  silent.close();
});

test("an answer that ends with its connection is whole", async () => {
  const ending = createTls(certificate, (socket) =>
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\nall of it", () => socket.end())),
  );
  ending.listen(0, "127.0.0.1");
  await once(ending, "listening");
  const at = (ending.address() as AddressInfo).port;
  await using front = new TestFront();
  front.route({ httpsPorts: [at] });
  const answer = await fetch(front.url, { headers: headers(at) });
  expect([answer.status, await answer.text()]).toEqual([200, "all of it"]);
  ending.close();
});
