import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, type ServerProcess, startServer } from "@boxyard/testkit";
import { API_PORT } from "../../tools/kubernetes/settings.ts";
import { clusterDirectory, environment } from "./config.ts";

const SMALL = `sha256:${"5".repeat(64)}`;
const API = `https://127.0.0.1:${API_PORT}`;
const RIGHTS = "/apis/rbac.authorization.k8s.io/v1";

const cluster = clusterDirectory();

/** Calls the API server as the cluster's administrator. */
export async function asAdministrator<T>(method: string, path: string, body?: object): Promise<T> {
  const at = (name: string) => readFileSync(join(cluster, "pki", name), "utf8");
  const response = await fetch(`${API}${path}`, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    tls: { ca: at("ca.crt"), cert: at("admin.crt"), key: at("admin.key") },
    signal: AbortSignal.timeout(30_000),
  } as RequestInit);
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** The process of the cluster's API server. */
export function apiServer(): { readonly pid: number } {
  const isIt = (pid: string) => {
    try {
      const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return argv[1] === "kube-apiserver" && argv.includes(`--client-ca-file=${join(cluster, "pki/ca.crt")}`);
    } catch {
      return false;
    }
  };
  const pid = readdirSync("/proc").find((name) => /^\d+$/.test(name) && isIt(name));
  if (pid === undefined) throw new Error("there is no API server");
  return { pid: Number(pid) };
}

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** A server whose sandboxes are pods in a namespace of its own, with an account that has exactly the rights of docs/kubernetes.md. */
export class PodsServer {
  readonly namespace: string;
  private readonly dataDir = mkdtempSync(join(tmpdir(), "boxyard-pods-"));
  private readonly settings: Readonly<Record<string, string>>;
  private server: ServerProcess | undefined;

  private constructor(namespace: string, settings: Readonly<Record<string, string>>) {
    this.namespace = namespace;
    this.settings = settings;
  }

  static async start(namespace: string, settings: Readonly<Record<string, string>> = {}): Promise<PodsServer> {
    const server = new PodsServer(namespace, settings);
    server.writeTemplate();
    await server.makeAccount();
    await server.boot();
    return server;
  }

  get env() {
    return {
      ...environment(),
      BOXYARD_DATA: this.dataDir,
      BOXYARD_LISTEN: "127.0.0.1:0",
      BOXYARD_DRIVER: "kubernetes",
      BOXYARD_KUBECONFIG: join(this.dataDir, "kubeconfig"),
      BOXYARD_KUBERNETES_NAMESPACE: this.namespace,
      BOXYARD_KUBERNETES_INSTANCE: "e2e",
      BOXYARD_KUBERNETES_IMAGE: "localhost/boxyard/small:{hex}",
      BOXYARD_KUBERNETES_GUEST_IMAGE: "localhost/boxyard/guest:1",
      BOXYARD_KUBERNETES_PULL_POLICY: "Never",
      ...this.settings,
    };
  }

  /** What clients need. */
  get options() {
    return { apiKey: readFileSync(join(this.dataDir, "api-key"), "utf8").trim(), apiUrl: this.running.url };
  }

  get pods(): string {
    return `/api/v1/namespaces/${this.namespace}/pods`;
  }

  /** A figure of the server's metrics; 0 for one that it does not have. */
  async figure(name: string): Promise<number> {
    const { apiKey, apiUrl } = this.options;
    const text = await (await fetch(`${apiUrl}/metrics`, { headers: { "X-API-Key": apiKey } })).text();
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  }

  async boot(): Promise<void> {
    this.server = await startServer(this.dataDir, this.env);
  }

  kill9(): Promise<unknown> {
    return this.running.kill9();
  }

  async stop(): Promise<void> {
    await this.server?.stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  private get running(): ServerProcess {
    if (!this.server) throw new Error("the server was not started");
    return this.server;
  }

  private writeTemplate(): void {
    mkdirSync(join(this.dataDir, "templates"));
    const image = { digest: SMALL, layers: [SMALL] };
    const limits = { cpuCount: 1, memoryMB: 128, diskMB: 512 };
    const template = { version: 1, name: "base", ...limits, env: {}, user: "user", workdir: "/home/user", image };
    writeFileSync(join(this.dataDir, "templates/base.json"), JSON.stringify(template));
  }

  private async makeAccount(): Promise<void> {
    const inNamespace = `/namespaces/${this.namespace}`;
    const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(readFileSync(join(CHECKOUT, "docs/kubernetes.md"), "utf8")) ?? [];
    await asAdministrator("POST", "/api/v1/namespaces", { metadata: { name: this.namespace } });
    await asAdministrator("POST", `/api/v1${inNamespace}/serviceaccounts`, { metadata: { name: "server" } });
    const subjects = [{ kind: "ServiceAccount", name: "server", namespace: this.namespace }];
    for (const text of yaml.split("---\n")) {
      const role = Bun.YAML.parse(text) as Named;
      const isNamespaced = role.kind === "Role";
      // The roles of the cluster are told apart by the namespace.
      const metadata = { name: isNamespaced ? role.metadata.name : `${this.namespace}-${role.metadata.name}` };
      const place = isNamespaced ? `${RIGHTS}${inNamespace}` : RIGHTS;
      await asAdministrator("POST", `${place}/${role.kind.toLowerCase()}s`, { ...role, metadata });
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: role.kind, name: metadata.name };
      await asAdministrator("POST", `${place}/${role.kind.toLowerCase()}bindings`, { metadata, roleRef, subjects });
    }
    const path = `/api/v1${inNamespace}/serviceaccounts/server/token`;
    const { status } = await asAdministrator<{ status: { token: string } }>("POST", path, { spec: { expirationSeconds: 3600 } });
    const kubeconfig = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: API, "certificate-authority": join(cluster, "pki/ca.crt") } }],
      users: [{ name: "u", user: { token: status.token } }],
    };
    writeFileSync(join(this.dataDir, "kubeconfig"), JSON.stringify(kubeconfig), { mode: 0o600 });
  }
}
