import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, readTestConfig, runProgram } from "@boxyard/testkit";
import { runGo } from "../support/go.ts";
import { openSideNetwork, type SideNetwork } from "../support/side-network.ts";

const SOURCES = join(CHECKOUT, "e2e/network/program");

/** The program of both ends, made once for its sources and kept in the cache. */
export async function networkProgram(): Promise<string> {
  const { cacheDir, env } = readTestConfig();
  const hash = new Bun.CryptoHasher("sha256");
  for (const name of readdirSync(SOURCES).toSorted()) hash.update(readFileSync(join(SOURCES, name)));
  const path = join(cacheDir, `network-program-${hash.digest("hex").slice(0, 16)}`);
  if (existsSync(path)) return path;
  mkdirSync(cacheDir, { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await runGo(["build", "-ldflags=-s -w", "-o", unfinished, "."], { cwd: SOURCES, env });
  renameSync(unfinished, path);
  return path;
}

const random = (most: number): number => (crypto.getRandomValues(new Uint32Array(1))[0] as number) % most;

/** Addresses by chance, for others may run the same test: an internet, a private network, and a link-local one, as services of metadata have. */
function addresses() {
  const internet = `198.19.${128 + random(128)}`;
  const inside = `10.99.${random(256)}`;
  const metadata = `169.254.${1 + random(160)}`;
  return {
    machine: `${internet}.1`,
    /** Serves two names, an allowed one and a denied one. */
    A: `${internet}.10`,
    /** Speaks TLS 1.2 alone. */
    B: `${internet}.11`,
    /** Allowed, or denied, as an address. */
    C: `${internet}.12`,
    /** In a network that is allowed, or denied. */
    D: `${internet}.18`,
    networkOfD: `${internet}.16/30`,
    /** Nobody allows or denies it. */
    E: `${internet}.40`,
    /** A name server. */
    N: `${internet}.53`,
    private: `${inside}.2`,
    metadata: `${metadata}.2`,
    /** Of the machine's own loopback: what the server asks for names. */
    resolver: `127.${1 + random(250)}.${random(250)}.53`,
  };
}
export type Addresses = ReturnType<typeof addresses>;

const AUTHORITY = `
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj '/CN=Authority of the matrix' -keyout ca.key -out trusted/ca.crt \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign,cRLSign
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=matrix -keyout leaf.key -out leaf.csr
openssl x509 -req -in leaf.csr -CA trusted/ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile leaf.ext -out leaf.crt`;

/** The servers of the matrix, in namespaces of their own. */
export class World implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), "boxyard-matrix-"));
  readonly at = addresses();
  private readonly networks: SideNetwork[] = [];
  private resolver: Bun.Subprocess | undefined;

  /** Settings of a server for whose sandboxes this is the world. */
  get settings(): Record<string, string> {
    return {
      BOXYARD_RESOLV_CONF: join(this.directory, "resolv.conf"),
      BOXYARD_AUTHORITIES: join(this.directory, "trusted"),
      PIP_INDEX_URL: "https://packages.example/simple/",
    };
  }

  async open(program: string): Promise<void> {
    const { directory, at } = this;
    const names = {
      ...Object.fromEntries(["allowed", "denied", "packages", "sub.allowed", "wild", "a.b.wild"].map((name) => [`${name}.example`, at.A])),
      "old.wild.example": at.B,
      "private.wild.example": at.private,
    };
    const subjects = [...Object.keys(names).map((name) => `DNS:${name}`), ...[at.A, at.B, at.C, at.E].map((address) => `IP:${address}`)];
    mkdirSync(join(directory, "trusted"));
    writeFileSync(
      join(directory, "leaf.ext"),
      `subjectAltName=${subjects.join(",")}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n`,
    );
    writeFileSync(join(directory, "resolv.conf"), `nameserver ${at.resolver}\n`);
    const made = await runProgram(["/bin/sh", "-ec", AUTHORITY], { cwd: directory });
    if (made.exitCode !== 0) throw new Error(made.stderr);
    const plan = { Cert: join(directory, "leaf.crt"), Key: join(directory, "leaf.key"), Names: names };
    const serve = (more: object) => [program, "serve", JSON.stringify({ ...plan, ...more })];
    const open = async (near: string, far: readonly string[], more: object) =>
      this.networks.push(await openSideNetwork(serve(more), { near, far }));
    const tls13 = (["A", "C", "D", "E"] as const).map((Name) => ({ Name, Address: at[Name], Tls: "1.3" }));
    const public_ = { Servers: [...tls13, { Name: "B", Address: at.B, Tls: "1.2" }], NameServers: [at.N] };
    await open(
      `${at.machine}/24`,
      [at.A, at.B, at.C, at.D, at.E, at.N].map((address) => `${address}/24`),
      public_,
    );
    for (const Name of ["private", "metadata"] as const) {
      const near = at[Name].replace(/2$/, "1");
      await open(`${near}/30`, [`${at[Name]}/30`], { Servers: [{ Name, Address: at[Name], Tls: "1.3" }] });
    }
    const own = { NameServers: [at.resolver], Servers: [{ Name: "machine", Address: at.machine, Tls: "" }] };
    this.resolver = Bun.spawn(serve(own), { stdout: "pipe", stderr: "inherit" });
    await (this.resolver.stdout as ReadableStream<Uint8Array>).getReader().read();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const network of this.networks) await network[Symbol.asyncDispose]();
    this.resolver?.kill("SIGKILL");
    await this.resolver?.exited;
    rmSync(this.directory, { recursive: true, force: true });
  }
}
