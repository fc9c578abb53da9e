import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Run } from "./programs.ts";
import { API_PORT, NODE_ADDRESS } from "./settings.ts";

interface Certificate {
  readonly name: string;
  readonly subject: string;
  /** Subject alternative names. */
  readonly names?: string;
}

const API_NAMES = `IP:127.0.0.1,IP:10.96.0.1,IP:${NODE_ADDRESS},DNS:localhost,DNS:kubernetes.default.svc`;

const CERTIFICATES: readonly Certificate[] = [
  { name: "apiserver", subject: "/CN=kube-apiserver", names: API_NAMES },
  { name: "apiserver-kubelet-client", subject: "/O=system:masters/CN=kube-apiserver-kubelet-client" },
  { name: "admin", subject: "/O=system:masters/CN=admin" },
  { name: "controllers", subject: "/CN=system:kube-controller-manager" },
  { name: "scheduler", subject: "/CN=system:kube-scheduler" },
  { name: "kubelet", subject: "/O=system:nodes/CN=system:node:node1" },
  { name: "kubelet-server", subject: "/CN=node1", names: `IP:${NODE_ADDRESS},DNS:node1` },
];

/** Users with a kubeconfig of their own. */
const USERS = ["admin", "controllers", "scheduler", "kubelet"];

/** Makes the authority of a cluster, the certificates of its components, the key of service accounts, and the kubeconfigs. */
export async function makeCertificates(directory: string, run: Run): Promise<void> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const at = (name: string) => join(directory, name);
  const key = (name: string) => run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", at(`${name}.key`)]);
  await key("ca");
  const authority = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"];
  await run([
    "openssl",
    "req",
    "-x509",
    "-new",
    "-key",
    at("ca.key"),
    "-subj",
    "/CN=cluster of a test",
    "-days",
    "30",
    "-out",
    at("ca.crt"),
    ...authority,
  ]);
  for (const { name, subject, names } of CERTIFICATES) {
    await key(name);
    await run(["openssl", "req", "-new", "-key", at(`${name}.key`), "-subj", subject, "-out", at(`${name}.csr`)]);
    const uses = ["extendedKeyUsage=clientAuth,serverAuth", "keyUsage=digitalSignature", ...(names ? [`subjectAltName=${names}`] : [])];
    writeFileSync(at(`${name}.ext`), `${uses.join("\n")}\n`);
    const signing = ["-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "30", "-extfile", at(`${name}.ext`)];
    await run(["openssl", "x509", "-req", "-in", at(`${name}.csr`), "-out", at(`${name}.crt`), ...signing]);
  }
  await key("accounts");
  await run(["openssl", "ec", "-in", at("accounts.key"), "-pubout", "-out", at("accounts.pub")]);
  for (const user of USERS) writeFileSync(at(`${user}.kubeconfig`), kubeconfig(directory, user), { mode: 0o600 });
}

const kubeconfig = (directory: string, user: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "test", cluster: { server: `https://127.0.0.1:${API_PORT}`, "certificate-authority": join(directory, "ca.crt") } }],
    users: [{ name: user, user: { "client-certificate": join(directory, `${user}.crt`), "client-key": join(directory, `${user}.key`) } }],
    contexts: [{ name: "test", context: { cluster: "test", user } }],
  });
