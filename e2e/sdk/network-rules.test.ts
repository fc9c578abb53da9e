import { expect, test } from "bun:test";
import { Sandbox, Secrets } from "@boxyard/sdk";
import * as e2b from "e2b";
import { usePlatform } from "../support/platform.ts";
import { connection } from "../support/sandbox.ts";

const platform = usePlatform();

/** The host from which this machine installs npm packages: one that it reaches by HTTPS. */
async function registryHost(): Promise<string> {
  const asked = Bun.spawn(["npm", "config", "get", "registry"], { stdout: "pipe" });
  return new URL((await new Response(asked.stdout).text()).trim()).hostname;
}

type Commands = { commands: { run(command: string): Promise<{ stdout: string }> } };

/** Who has signed the certificate that a program inside gets of a host, and trusts. */
const PROGRAMS: readonly ((host: string) => string)[] = [
  (host) => `curl -sv --max-time 20 -o /dev/null https://${host}/ 2>&1 | sed -n 's/.*issuer: //p'`,
  (host) =>
    `python3 -c 'import ssl,socket; s=ssl.create_default_context().wrap_socket(socket.create_connection(("${host}",443),20),server_hostname="${host}"); print(s.getpeercert()["issuer"])'`,
  (host) =>
    `node -e 'const s=require("tls").connect({host:"${host}",port:443,servername:"${host}"},()=>{console.log(s.authorized&&JSON.stringify(s.getPeerCertificate().issuer));s.end()})'`,
  (host) => `GIT_CURL_VERBOSE=1 timeout 20 git ls-remote https://${host}/none 2>&1 | sed -n 's/.*issuer: //p'`,
];
const EDGE = /Boxyard sandboxes [0-9a-f]{8}/;

test("TLS is opened for a host with rules alone, by an authority that programs inside trust, through all that a sandbox is taken through", async () => {
  const host = await registryHost();
  const ours = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const issuer = async ({ commands }: Commands, program = PROGRAMS[0]) => (await commands.run(`${program?.(host)} || true`)).stdout;
  const rules = { [host]: [{ transform: { headers: { "X-Added": "by the edge" } } }] };
  const theirs = await e2b.Sandbox.create({ ...connection(platform()), network: { rules } });
  await using sandbox = await Sandbox.connect(theirs.sandboxId, ours);
  expect((await theirs.getInfo()).network).toMatchObject({ rules });
  for (const program of PROGRAMS)
    expect([program(host), await issuer(theirs, program)]).toEqual([program(host), expect.stringMatching(EDGE)]);

  const [copy] = await sandbox.fork();
  if (!copy || "error" in copy) throw copy?.error ?? new Error("there is no fork");
  expect(await issuer(copy.sandbox)).toMatch(EDGE);
  await copy.sandbox.kill();

  await theirs.updateNetwork({});
  expect(await issuer(theirs)).not.toMatch(EDGE);
  await theirs.updateNetwork({ rules, denyOut: ["0.0.0.0/0"], allowOut: [host] });
  expect(await issuer(theirs)).toMatch(EDGE);

  for (const keepMemory of [true, false]) {
    await sandbox.pause({ keepMemory });
    expect([keepMemory, await issuer(await Sandbox.connect(sandbox.sandboxId, ours))]).toEqual([keepMemory, expect.stringMatching(EDGE)]);
  }
  await platform().kill9();
  await platform().restart();
  expect(await issuer(sandbox)).toMatch(EDGE);
}, 180_000);

test("a secret is attached to a running sandbox, and its value is in no file and no environment of it", async () => {
  const host = await registryHost();
  const ours = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const value = `value-${crypto.randomUUID()}`;
  // A second run on the same platform finds what an earlier one that failed has left.
  const name = `registry-${crypto.randomUUID().slice(0, 8)}`;
  await Secrets.create(name, value, ours);
  const envs = { TOKEN: Secrets.standIn(name) };
  await using sandbox = await Sandbox.create({ ...ours, envs });
  const secrets = [{ name, hosts: [host] }];
  await sandbox.updateNetwork({ secrets });
  const ask = `curl -s --max-time 20 -o /dev/null -w '%{http_code}' -H "X-Token: $TOKEN" https://${host}/`;
  expect((await sandbox.commands.run(ask)).stdout).toMatch(/^[2-4]\d\d$/);
  const found = `grep -rlsF '${value.slice(6)}' /proc/self/environ /home /tmp /etc /run /.boxyard 2>/dev/null; env | grep -cF '${value.slice(6)}' || true`;
  expect((await sandbox.commands.run(`${found}; echo $TOKEN`)).stdout).toBe(`0\n${envs.TOKEN}\n`);
  await Secrets.delete(name, ours);
}, 60_000);
