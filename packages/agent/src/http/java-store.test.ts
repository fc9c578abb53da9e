import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lacks, runProgram } from "@boxyard/testkit";
import { setJavaStore } from "./java-store.ts";

const work = mkdtempSync(join(tmpdir(), "boxyard-java-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function run(...command: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(command, { cwd: work, limitMs: 60_000 });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

async function certificate(name: string): Promise<string> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", `${name}.key`];
  await run("openssl", "req", "-x509", ...key, "-days", "9", "-subj", `/CN=${name}`, "-out", `${name}.pem`);
  return readFileSync(join(work, `${name}.pem`), "utf8");
}

const [first, second] = await Promise.all([certificate("first"), certificate("second")]);

const u16 = (value: number) => [value >> 8, value & 255];
const u32 = (value: number) => [...u16(value >>> 16), ...u16(value & 0xffff)];
const text = (ascii: string) => [...u16(ascii.length), ...Buffer.from(ascii)];

/** A key store as `keytool` writes it, with one certificate. */
function storeOf(pem: string, change: { password?: string; tag?: number; count?: number } = {}): Buffer {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ""), "base64");
  const entry = [...u32(change.tag ?? 2), ...text("own"), ...u32(400), ...u32(7), ...text("X.509"), ...u32(der.length), ...der];
  const content = Buffer.from([...u32(0xfeedfeed), ...u32(2), ...u32(change.count ?? 1), ...entry]);
  const hash = new Bun.CryptoHasher("sha1").update(Buffer.from(change.password ?? "changeit", "utf16le").swap16());
  return Buffer.concat([content, hash.update("Mighty Aphrodite").update(content).digest() as Buffer]);
}

function after(store: Buffer, ...pems: string[]): Buffer {
  const path = join(work, "store");
  writeFileSync(path, store);
  for (const pem of pems) setJavaStore(path, pem);
  return readFileSync(path);
}

test("certificates are added to those of the image, and replace those of the last call", () => {
  const own = storeOf(first);
  const both = after(own, second);
  expect(both.length).toBeGreaterThan(own.length + 300);
  expect(both.readUInt32BE(8)).toBe(2);
  expect(after(both, second)).toEqual(both);
  expect(after(own, first + second, second)).toEqual(both);
  expect(after(both, "")).toEqual(own);
});

test("blocks that are not certificates are left out, the others are added", () => {
  const own = storeOf(first);
  const rubbish = ["AAAA", "MAA=", "not base64", ""]
    .map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`)
    .join("");
  expect(after(own, rubbish)).toEqual(own);
  expect(after(own, rubbish + second)).toEqual(after(own, second));
});

test("a store of another format, password or kind of entries is left unchanged, and so is any other file", () => {
  const own = storeOf(first);
  const others = [
    storeOf(first, { password: "other" }),
    storeOf(first, { tag: 1 }),
    storeOf(first, { count: 2 }),
    storeOf(first, { count: 0xffffffff }),
    own.subarray(0, -1),
    own.subarray(0, 11),
    Buffer.concat([own, Buffer.from("x")]),
    Buffer.from([0x30, 0x82, 1, 2]),
    Buffer.alloc(0),
    Buffer.alloc((2 << 20) + 1),
  ];
  expect(others.map((store) => after(store, second).equals(store))).toEqual(others.map(() => true));
  mkdirSync(join(work, "directory"));
  for (const path of ["absent", "directory"]) setJavaStore(join(work, path), second);
});

test.skipIf(lacks("keytool"))(
  "the JDK of this machine reads the store, with the image's certificates and the added ones",
  async () => {
    const path = join(work, "made-by-keytool");
    const keytool = (...args: string[]) => run("keytool", ...args, "-keystore", path, "-storepass", "changeit");
    await keytool("-importcert", "-noprompt", "-alias", "own", "-file", join(work, "first.pem"), "-storetype", "JKS");
    setJavaStore(path, second);
    const bare = (pem: string) => pem.replace(/\s/g, "");
    const listed = bare(await keytool("-list", "-rfc"));
    expect([listed.includes(bare(first)), listed.includes(bare(second)), listed.match(/BEGIN/g)?.length]).toEqual([true, true, 2]);
  },
  120_000,
);
