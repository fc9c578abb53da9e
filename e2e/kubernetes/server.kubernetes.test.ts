import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { CHECKOUT, eventually, SERVER_PROGRAMS, type ServerProcess, startServer } from "@boxyard/testkit";

/*
 * The server with sandboxes that are pods, on the cluster of `./boxyard test kubernetes`: the same API and client as on one machine.
 */

const cluster = process.env.BOXYARD_TEST_CLUSTER ?? "";
const NAMESPACE = "boxyard";
const SMALL = `sha256:${"5".repeat(64)}`;
const LIMIT_MS = 120_000;

let dataDir: string;
let server: ServerProcess;

const env = () => ({
  ...process.env,
  BOXYARD_DATA: dataDir,
  BOXYARD_LISTEN: "127.0.0.1:0",
  BOXYARD_DRIVER: "kubernetes",
  BOXYARD_KUBECONFIG: join(dataDir, "kubeconfig"),
  BOXYARD_KUBERNETES_INSTANCE: "e2e",
  BOXYARD_KUBERNETES_IMAGE: "localhost/boxyard/small:{hex}",
  BOXYARD_KUBERNETES_GUEST_IMAGE: "localhost/boxyard/guest:1",
  BOXYARD_KUBERNETES_PULL_POLICY: "Never",
});

/** Calls the API server as the cluster's administrator. */
async function asAdministrator<T>(method: string, path: string, body?: object): Promise<T> {
  const at = (name: string) => readFileSync(join(cluster, "pki", name), "utf8");
  const response = await fetch(`https://127.0.0.1:16443${path}`, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    tls: { ca: at("ca.crt"), cert: at("admin.crt"), key: at("admin.key") },
  } as RequestInit);
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** Makes an account with exactly the rights of docs/kubernetes.md, and a kubeconfig with its token. */
async function makeAccount(): Promise<void> {
  const rights = "/apis/rbac.authorization.k8s.io/v1";
  const inNamespace = `/namespaces/${NAMESPACE}`;
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(readFileSync(join(CHECKOUT, "docs/kubernetes.md"), "utf8")) ?? [];
  await asAdministrator("POST", "/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  await asAdministrator("POST", `/api/v1${inNamespace}/serviceaccounts`, { metadata: { name: "server" } });
  const subjects = [{ kind: "ServiceAccount", name: "server", namespace: NAMESPACE }];
  for (const text of yaml.split("---\n")) {
    const role = Bun.YAML.parse(text) as Named;
    const place = role.kind === "Role" ? `${rights}${inNamespace}` : rights;
    await asAdministrator("POST", `${place}/${role.kind.toLowerCase()}s`, role);
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: role.kind, name: role.metadata.name };
    await asAdministrator("POST", `${place}/${role.kind.toLowerCase()}bindings`, { metadata: role.metadata, roleRef, subjects });
  }
  const path = `/api/v1${inNamespace}/serviceaccounts/server/token`;
  const { status } = await asAdministrator<{ status: { token: string } }>("POST", path, { spec: { expirationSeconds: 3600 } });
  const kubeconfig = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:16443", "certificate-authority": join(cluster, "pki/ca.crt") } }],
    users: [{ name: "u", user: { token: status.token } }],
  };
  writeFileSync(join(dataDir, "kubeconfig"), JSON.stringify(kubeconfig), { mode: 0o600 });
}

const options = () => ({ apiKey: readFileSync(join(dataDir, "api-key"), "utf8").trim(), apiUrl: server.url });

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "boxyard-pods-"));
  mkdirSync(join(dataDir, "templates"));
  const image = { digest: SMALL, layers: [SMALL] };
  const template = {
    version: 1,
    name: "base",
    cpuCount: 1,
    memoryMB: 256,
    diskMB: 512,
    env: {},
    user: "user",
    workdir: "/home/user",
    image,
  };
  writeFileSync(join(dataDir, "templates/base.json"), JSON.stringify(template));
  await makeAccount();
  server = await startServer(dataDir, env());
}, LIMIT_MS);

afterAll(async () => {
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
}, LIMIT_MS);

test(
  "a sandbox is created, used and killed by the client that is used on one machine",
  async () => {
    const sandbox = await Sandbox.create(options());
    const { stdout } = await sandbox.commands.run("echo $((6*7)); id -un");
    expect(stdout).toBe("42\nuser\n");
    await sandbox.files.write("/home/user/a", "kept");
    expect(await sandbox.files.read("/home/user/a")).toBe("kept");
    expect(await sandbox.kill()).toBe(true);
    expect((await Sandbox.list(options()).nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([]);
  },
  LIMIT_MS,
);

test(
  "a sandbox outlives a server that is killed",
  async () => {
    const sandbox = await Sandbox.create(options());
    await sandbox.files.write("/home/user/a", "kept");
    await server.kill9();
    server = await startServer(dataDir, env());
    const again = await Sandbox.connect(sandbox.sandboxId, options());
    expect(await again.files.read("/home/user/a")).toBe("kept");
    await again.kill();
  },
  LIMIT_MS,
);

test(
  "the doctor finds the cluster, and that the account has the rights of the document",
  async () => {
    const doctor = Bun.spawn([process.execPath, SERVER_PROGRAMS.plain, "doctor", "--json"], {
      cwd: CHECKOUT,
      env: env(),
      stdout: "pipe",
      stderr: "inherit",
    });
    const { checks } = (await new Response(doctor.stdout).json()) as { checks: { name: string; status: string }[] };
    expect(checks.slice(0, 2)).toMatchObject([
      { name: "cluster", status: "ok" },
      { name: "rights", status: "ok" },
    ]);
  },
  LIMIT_MS,
);

test(
  "what a cluster cannot do is refused with the reason, and the sandbox goes on",
  async () => {
    const sandbox = await Sandbox.create(options());
    await expect(sandbox.pause()).rejects.toThrow("cannot be paused on this server");
    expect((await sandbox.commands.run("echo on")).stdout).toBe("on\n");
    await sandbox.kill();
  },
  LIMIT_MS,
);

test(
  "a pod that somebody deletes ends its sandbox, and the store learns it",
  async () => {
    const sandbox = await Sandbox.create(options());
    await asAdministrator("DELETE", `/api/v1/namespaces/${NAMESPACE}/pods/sandbox-${sandbox.sandboxId}`);
    await eventually("the sandbox is gone", async () => !(await sandbox.isRunning()), { withinMs: 60_000 });
  },
  LIMIT_MS,
);
