import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { lacks, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

/** A company's own authority, as an inspecting proxy has one, and a server's certificate that it has signed. */
const work = mkdtempSync(join(tmpdir(), "boxyard-authority-"));
const trusted = join(work, "trusted");
mkdirSync(trusted);
const CERTIFICATES = `
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=Our own authority' -keyout ca.key -out trusted/ours.crt \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign,cRLSign
openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout leaf.key -out leaf.csr
printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' > leaf.ext
openssl x509 -req -in leaf.csr -CA trusted/ours.crt -CAkey ca.key -CAcreateserial -days 2 -extfile leaf.ext -out leaf.crt
`;

const SERVER = `
import http.server, ssl
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tmp/leaf.crt", "/tmp/leaf.key")
server = http.server.HTTPServer(("127.0.0.1", 8443), http.server.SimpleHTTPRequestHandler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
`;

// Before the server starts, which reads them then.
const made = await runProgram(["/bin/sh", "-ec", CERTIFICATES], { cwd: work });
if (made.exitCode !== 0) throw new Error(made.stderr);
const platform = usePlatform({ env: { BOXYARD_AUTHORITIES: trusted } });
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

afterAll(() => rmSync(work, { recursive: true, force: true }));

/** Each asks a server whose certificate no public authority has signed. */
const CLIENTS: Readonly<Record<string, string>> = {
  curl: "curl -fsS -o /dev/null https://localhost:8443/",
  wget: "wget -q -O /dev/null https://localhost:8443/",
  openssl: "openssl s_client -connect localhost:8443 -verify_return_error </dev/null",
  "Python's ssl": `python3 -c 'import urllib.request; urllib.request.urlopen("https://localhost:8443/").read()'`,
  "Node's fetch": `node -e 'fetch("https://localhost:8443/").then((r) => r.text(), (e) => { console.error(e); process.exit(1) })'`,
  "pip as root": "sudo pip download --no-deps --index-url https://localhost:8443/ absent 2>&1 | grep -q 'No matching distribution'",
};

async function sandboxWithServer(): Promise<Sandbox> {
  const sandbox = await Sandbox.create("base", options());
  for (const name of ["leaf.crt", "leaf.key"]) await sandbox.files.write(`/tmp/${name}`, readFileSync(join(work, name), "utf8"));
  await sandbox.files.write("/tmp/server.py", SERVER);
  await sandbox.commands.run("cd /tmp && python3 server.py", { background: true });
  await sandbox.commands.run("until curl -sk -o /dev/null https://localhost:8443/; do sleep 0.05; done");
  return sandbox;
}

test("running sandboxes trust the authorities that the setting names, whichever program asks", async () => {
  await using sandbox = await sandboxWithServer();
  for (const [name, command] of Object.entries(CLIENTS)) {
    const { stdout } = await sandbox.commands.run(`(${command}) >/tmp/said 2>&1 && echo fine || tail -n 5 /tmp/said`);
    expect([name, stdout]).toEqual([name, "fine\n"]);
  }
}, 60_000);

test("the image's own authorities stay trusted, and the list can be changed inside", async () => {
  await using sandbox = await Sandbox.create("base", options());
  const count = async () => Number((await sandbox.commands.run("grep -c BEGIN /etc/ssl/certs/ca-certificates.crt")).stdout);
  expect(await count()).toBeGreaterThan(100);
  await sandbox.commands.run("sudo update-ca-certificates");
  expect(await count()).toBeGreaterThan(100);
}, 60_000);

test.skipIf(lacks("keytool"))(
  "Java's own list, where the image has one, has the authorities too",
  async () => {
    const path = join(work, "cacerts");
    const keytool = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await runProgram(["keytool", ...args, "-keystore", path, "-storepass", "changeit"], {
        limitMs: 60_000,
      });
      if (exitCode !== 0) throw new Error(stdout + stderr);
      return stdout;
    };
    await keytool("-importcert", "-noprompt", "-alias", "own", "-file", join(work, "leaf.crt"), "-storetype", "JKS");
    const sandbox = await Sandbox.create("base", options());
    await sandbox.files.write("cacerts", readFileSync(path));
    await sandbox.commands.run("sudo install -D -m 644 cacerts /etc/ssl/certs/java/cacerts");
    // The list is written at each start: that of a template is there before its first start.
    await sandbox.pause({ keepMemory: false });
    await using resumed = await Sandbox.connect(sandbox.sandboxId, options());
    writeFileSync(path, await resumed.files.read("/etc/ssl/certs/java/cacerts", { format: "bytes" }));
    const listed = await keytool("-list", "-v");
    expect(listed.match(/^Owner: .*$/gm)?.sort()).toEqual([
      // The one that signs for hosts with rules.
      expect.stringMatching(/^Owner: CN=Boxyard sandboxes [0-9a-f]{8}$/),
      "Owner: CN=Our own authority",
      "Owner: CN=localhost",
    ]);
  },
  120_000,
);
