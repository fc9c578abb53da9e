import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Authenticator } from "./auth.ts";
import { RegistryClient } from "./client.ts";
import { FetchPolicy, type FetchPolicyOptions, type NameLookup } from "./fetch-policy.ts";
import { Transport } from "./transport.ts";

const { signal } = new AbortController();
/** A resolver that knows the names of a table. */
const names =
  (table: Readonly<Record<string, readonly string[]>>): NameLookup =>
  async (host) =>
    table[host] ?? [];
const reach = (options: FetchPolicyOptions = {}) => new FetchPolicy({ ownAddresses: () => ["203.0.113.50"], ...options });
const refused = { code: "permission_denied", reason: "registry_not_allowed" };
const addressesOf = (of: FetchPolicy, url: string, from?: string) => of.addressesOf(new URL(url), from ?? new URL(url).host, signal);

test.each([
  ...["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0.0.0.0", "10.1.2.3", "172.31.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254"],
  ...["168.63.129.16", "224.0.0.1", "255.255.255.255", "203.0.113.50", "[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[ff02::1]"],
  ...[
    "[::ffff:203.0.113.50]",
    "[64:ff9b::203.0.113.50]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[64:ff9b::]",
    "localhost.",
    "a.localhost.",
  ],
  ...["[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::a00:1]", "[2002:7f00:1::]", "localhost", "a.localhost"],
])("%s is not a public address", async (host) => {
  const lookup = names({ localhost: ["127.0.0.1"], "a.localhost": ["::1"] });
  await expect(addressesOf(reach({ lookup }), `https://${host}/`)).rejects.toMatchObject(refused);
  // Refused through a proxy too, which would connect to it for the server.
  const proxied = reach({ lookup, proxy: { https: "http://proxy.test:3128", noProxy: "" } });
  await expect(addressesOf(proxied, `https://${host}/`)).rejects.toMatchObject(refused);
});

test("a name is allowed if it has public addresses, and only those are used", async () => {
  const lookup = names({ "good.test": ["203.0.113.7", "2001:db8::7"], "both.test": ["10.0.0.1", "203.0.113.7"], "bad.test": ["10.0.0.1"] });
  expect(await addressesOf(reach({ lookup }), "https://good.test/")).toEqual(["203.0.113.7", "2001:db8::7"]);
  expect(await addressesOf(reach({ lookup }), "https://both.test/")).toEqual(["203.0.113.7"]);
  await expect(addressesOf(reach({ lookup }), "https://bad.test/")).rejects.toMatchObject(refused);
  // The machine's own addresses in another spelling.
  for (const own of ["::ffff:203.0.113.50", "64:ff9b::cb00:7132"]) {
    await expect(addressesOf(reach({ lookup: names({ "own.test": [own] }) }), "https://own.test/")).rejects.toMatchObject(refused);
  }
  expect(await addressesOf(reach({ lookup: names({ "six.test": ["64:ff9b::808:808"] }) }), "https://six.test/")).toEqual([
    "64:ff9b::808:808",
  ]);
  await expect(addressesOf(reach({ lookup }), "https://none.test/")).rejects.toMatchObject({ reason: "registry_unreachable" });
});

test("a listed registry may have any address, but other registries do not lead to it", async () => {
  const lookup = names({ "corp.test": ["10.0.0.1"] });
  const listed = reach({ lookup, privateRegistries: ["corp.test:5000", "127.0.0.1", "http://10.0.0.9:80"] });
  expect(await addressesOf(listed, "https://corp.test:5000/")).toBeUndefined();
  expect(await addressesOf(listed, "http://127.0.0.1:4711/")).toBeUndefined();
  for (const url of ["https://corp.test/", "https://corp.test:5001/"])
    await expect(addressesOf(listed, url)).rejects.toMatchObject(refused);
  for (const url of ["https://corp.test:5000/", "http://127.0.0.1:4711/"])
    await expect(addressesOf(listed, url, "evil.test")).rejects.toMatchObject({ reason: "registry_not_allowed" });
  expect(["corp.test:5000", "127.0.0.1:1", "10.0.0.9", "x.test"].map((registry) => listed.schemeOf(registry))).toEqual([
    "https",
    "http",
    "http",
    "https",
  ]);
});

test("without TLS only listed registries are reached", async () => {
  const lookup = names({ "good.test": ["203.0.113.7"] });
  await expect(addressesOf(reach({ lookup }), "http://good.test/")).rejects.toMatchObject(refused);
  for (const scheme of ["file", "ftp", "unix"]) await expect(addressesOf(reach(), `${scheme}://good.test/`)).rejects.toMatchObject(refused);
});

test("the machine's proxy is used except for NO_PROXY, and looks names up itself", async () => {
  const proxy = { https: "http://u:p@proxy.test:3128", http: "http://plain.test:80", noProxy: "near.test,.corp.test, 203.0.113.9" };
  const of = reach({
    proxy,
    privateRegistries: ["http://10.0.0.9"],
    lookup: names({ "near.test": ["203.0.113.7"], "corp.test": ["203.0.113.7"] }),
  });
  const used = (url: string) => of.proxyOf(new URL(url));
  expect([used("https://far.test/"), used("http://10.0.0.9/")]).toEqual([proxy.https, proxy.http]);
  for (const host of ["near.test", "near.test:5000", "a.corp.test", "corp.test", "203.0.113.9", "localhost", "127.0.0.1:1", "[::1]"])
    expect([host, used(`https://${host}/`)]).toEqual([host, undefined]);
  expect(reach({ proxy: { ...proxy, noProxy: "*" } }).proxyOf(new URL("https://far.test/"))).toBeUndefined();
  expect(await addressesOf(of, "https://far.test/")).toBeUndefined();
  expect(await addressesOf(of, "https://near.test/")).toEqual(["203.0.113.7"]);
});

/** An HTTPS server for `registry.test`, and what it was asked for. */
let directory: string;
let ca: string;
let server: Bun.Server<undefined>;
const asked: string[] = [];
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-reach-"));
  const names = "subjectAltName=DNS:registry.test,DNS:auth.registry.test";
  const made = Bun.spawnSync(
    [
      "openssl",
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "2",
      "-subj",
      "/CN=t",
      "-addext",
      names,
      "-keyout",
      "k.pem",
      "-out",
      "c.pem",
    ],
    { cwd: directory },
  );
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  ca = readFileSync(join(directory, "c.pem"), "utf8");
  server = Bun.serve({
    hostname: "127.0.0.3",
    port: 0,
    tls: { key: readFileSync(join(directory, "k.pem"), "utf8"), cert: ca },
    fetch: (request) => {
      asked.push(`${request.headers.get("host")} ${new URL(request.url).pathname}`);
      return Response.json({ token: "t" });
    },
  });
});
afterAll(async () => {
  await server.stop(true);
  rmSync(directory, { recursive: true });
});

/** A `FetchPolicy` for which the address of this test's server is public. */
class Lenient extends FetchPolicy {
  protected override isPublic(address: string): boolean {
    return address === "127.0.0.3" || super.isPublic(address);
  }
}

test("a connection goes to the address that was checked, whatever a later look-up gives, and the certificate must be the name's", async () => {
  let lookups = 0;
  // A hostile name server gives a public address for the check, and another one for the connection.
  const lookup: NameLookup = async () => (lookups++ === 0 ? ["127.0.0.3"] : ["127.0.0.1"]);
  const transport = new Transport({ ca, fetchPolicy: new Lenient({ lookup }) });
  const url = new URL(`https://registry.test:${server.port}/v2/`);
  const get = (at = url) => transport.fetch(at, { signal, from: "registry.test" });
  expect(await (await get()).json()).toEqual({ token: "t" });
  expect([lookups, asked.at(-1)]).toEqual([1, `registry.test:${server.port} /v2/`]);
  await expect(get()).rejects.toMatchObject(refused);
  const other = new Transport({ ca, fetchPolicy: new Lenient({ lookup: async () => ["127.0.0.3"] }) });
  await expect(other.fetch(new URL(`https://other.test:${server.port}/`), { signal, from: "other.test" })).rejects.toMatchObject({
    reason: "registry_unreachable",
    message: expect.stringContaining("ALTNAME"),
  });
  expect(asked.at(-1)).toBe(`registry.test:${server.port} /v2/`);
});

test("an address that refuses is followed by the next one", async () => {
  const transport = new Transport({ ca, fetchPolicy: new Lenient({ lookup: async () => ["127.0.0.3"] }) });
  const twice = new Transport({
    ca,
    fetchPolicy: new (class extends Lenient {
      protected override isPublic() {
        return true;
      }
    })({ lookup: async () => ["127.0.0.4", "127.0.0.3"] }),
  });
  for (const of of [transport, twice])
    expect((await of.fetch(new URL(`https://registry.test:${server.port}/`), { signal, from: "registry.test" })).status).toBe(200);
});

test.each([
  ["http://registry.test/token", "without TLS"],
  ["https://127.0.0.1:1/token", "on the machine"],
  ["https://metadata.registry.test/token", "a name of the registry's site with a private address"],
  ["https://elsewhere.test/token", "another site"],
  ["https://registry.test.elsewhere.test/token", "another site with its name in front"],
  ["file:///etc/passwd", "a file"],
  ["no address", "not an address"],
])("a realm %s (%s) is not followed, with or without a login", async (realm) => {
  const before = asked.length;
  const lookup = names({ "registry.test": ["127.0.0.3"], "metadata.registry.test": ["169.254.169.254"], "elsewhere.test": ["127.0.0.3"] });
  const transport = new Transport({ ca, fetchPolicy: new Lenient({ lookup }) });
  for (const login of [undefined, { username: "u", password: "p" }]) {
    const auth = new Authenticator("registry.test", login, transport);
    await expect(auth.answer("repository:x:pull", `Bearer realm="${realm}"`, signal)).rejects.toMatchObject({
      reason: expect.stringMatching(/^registry_(answer|not_allowed)$/),
    });
  }
  expect(asked.length).toBe(before);
});

test("a realm of the registry's own site, or one that the operator allows for it, gives the token", async () => {
  const lookup = names({ "auth.registry.test": ["127.0.0.3"], "registry.test": ["127.0.0.3"] });
  const transport = (tokenServers: Record<string, string[]>) => new Transport({ ca, fetchPolicy: new Lenient({ lookup, tokenServers }) });
  const answer = (registry: string, pairs: Record<string, string[]>) =>
    new Authenticator(registry, undefined, transport(pairs)).answer(
      "s",
      `Bearer realm="https://auth.registry.test:${server.port}/t"`,
      signal,
    );
  expect(await answer("registry.test", {})).toBe("Bearer t");
  await expect(answer("images.example", {})).rejects.toMatchObject({ reason: "registry_answer" });
  expect(await answer("images.example", { "images.example": ["auth.registry.test"] })).toBe("Bearer t");
});

test("a redirect to another host gets no credentials, nor does a redirect back", async () => {
  const seen: (string | null)[] = [];
  const hop = (to: string) => new Response(null, { status: 307, headers: { location: to } });
  const fake = new (class extends Transport {
    override async fetch(url: URL, options: Parameters<Transport["fetch"]>[1]): Promise<Response> {
      seen.push(`${url.host} ${options.headers?.authorization ?? "-"}`);
      if (url.pathname === "/v2/app/a") return hop("https://cdn.test/b");
      if (url.pathname === "/b") return hop("https://registry.test/c");
      return new Response("end");
    }
  })();
  const client = new RegistryClient({ registry: "registry.test", repository: "app" }, { username: "u", password: "p" }, fake);
  // biome-ignore lint/complexity/useLiteralKeys: the credentials that an earlier answer has left.
  client["auth"]["keep"]("repository:app:pull", "Basic x", Number.POSITIVE_INFINITY);
  await client.request(client.url("a"), "pull", { signal });
  expect(seen).toEqual(["registry.test Basic x", "cdn.test -", "registry.test -"]);
});
