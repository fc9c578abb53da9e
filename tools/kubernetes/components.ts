import { join } from "node:path";
import { API_PORT, type ClusterPaths, NODE_ADDRESS, pki, socket } from "./settings.ts";

/** A program of the cluster, in the order of their start. */
export interface Component {
  readonly name: string;
  readonly argv: readonly string[];
}

/** etcd's ports, in the cluster's own network namespace. */
const STORE = "http://127.0.0.1:12379";
const STORE_PEERS = "http://127.0.0.1:12380";

/** The programs of a cluster with one node. */
export function components(paths: ClusterPaths): readonly Component[] {
  const { directory, programs } = paths;
  const certificate = (name: string) => join(pki(paths), name);
  const kubernetes = (name: string, flags: Readonly<Record<string, string>>) => ({
    name,
    argv: [join(programs, "hyperkube"), name, ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)],
  });
  return [
    kubernetes("etcd", {
      name: "store",
      "data-dir": join(directory, "etcd"),
      // Nothing of the cluster outlives the test.
      "unsafe-no-fsync": "true",
      "listen-client-urls": STORE,
      "advertise-client-urls": STORE,
      "listen-peer-urls": STORE_PEERS,
      "initial-advertise-peer-urls": STORE_PEERS,
      "initial-cluster": `store=${STORE_PEERS}`,
      "log-level": "warn",
    }),
    { name: "containerd", argv: [join(programs, "containerd"), "-c", join(directory, "containerd.toml")] },
    kubernetes("kube-apiserver", {
      "etcd-servers": STORE,
      "bind-address": "127.0.0.1",
      "secure-port": String(API_PORT),
      "advertise-address": NODE_ADDRESS,
      "endpoint-reconciler-type": "none",
      "tls-cert-file": certificate("apiserver.crt"),
      "tls-private-key-file": certificate("apiserver.key"),
      "client-ca-file": certificate("ca.crt"),
      "kubelet-client-certificate": certificate("apiserver-kubelet-client.crt"),
      "kubelet-client-key": certificate("apiserver-kubelet-client.key"),
      "kubelet-certificate-authority": certificate("ca.crt"),
      "kubelet-preferred-address-types": "InternalIP",
      "service-account-issuer": "https://kubernetes.default.svc",
      "service-account-key-file": certificate("accounts.pub"),
      "service-account-signing-key-file": certificate("accounts.key"),
      "authorization-mode": "Node,RBAC",
      "enable-admission-plugins": "NodeRestriction",
      "service-cluster-ip-range": "10.96.0.0/16",
      profiling: "false",
    }),
    kubernetes("kube-controller-manager", {
      kubeconfig: certificate("controllers.kubeconfig"),
      "bind-address": "127.0.0.1",
      "leader-elect": "false",
      "service-account-private-key-file": certificate("accounts.key"),
      "root-ca-file": certificate("ca.crt"),
      "use-service-account-credentials": "true",
      "allocate-node-cidrs": "false",
      profiling: "false",
      // With the default rate the node's first taint goes four seconds late.
      "kube-api-qps": "1000",
      "kube-api-burst": "2000",
    }),
    kubernetes("kube-scheduler", {
      kubeconfig: certificate("scheduler.kubeconfig"),
      "bind-address": "127.0.0.1",
      "leader-elect": "false",
      profiling: "false",
    }),
    kubernetes("kubelet", {
      config: join(directory, "kubelet.json"),
      kubeconfig: certificate("kubelet.kubeconfig"),
      "hostname-override": "node1",
      "node-ip": NODE_ADDRESS,
      "root-dir": join(directory, "kubelet"),
      "cert-dir": join(directory, "kubelet/pki"),
    }),
  ];
}

/** containerd's own client. */
export const ctr = (paths: ClusterPaths, ...args: readonly string[]): readonly string[] => [
  join(paths.programs, "ctr"),
  ...["-a", socket(paths), "-n", "k8s.io"],
  ...args,
];
