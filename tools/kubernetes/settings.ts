import { join } from "node:path";

/** Addresses and ports in the cluster's own network namespace. */
export const NODE_ADDRESS = "10.88.0.1";
export const API_PORT = 16_443;
/** The address of the API in pods: that of its Service, the first of the range. */
export const SERVICE_ADDRESS = "10.96.0.1";
export const BRIDGE = "pods0";

/** The paths of a cluster, all below one directory. */
export interface ClusterPaths {
  readonly directory: string;
  readonly programs: string;
  /** The cluster's cgroup, below the root of each hierarchy. */
  readonly cgroup: string;
}

export const pki = ({ directory }: ClusterPaths): string => join(directory, "pki");
export const socket = ({ directory }: ClusterPaths): string => join(directory, "containerd.sock");

/** Settings of the kubelet (kubelet.config.k8s.io/v1beta1). YAML takes JSON. */
export function kubeletSettings(paths: ClusterPaths): string {
  const certificates = pki(paths);
  return JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: NODE_ADDRESS,
    healthzBindAddress: "127.0.0.1",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: `${certificates}/ca.crt` } },
    authorization: { mode: "Webhook" },
    tlsCertFile: `${certificates}/kubelet-server.crt`,
    tlsPrivateKeyFile: `${certificates}/kubelet-server.key`,
    containerRuntimeEndpoint: `unix://${socket(paths)}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: paths.cgroup,
    failSwapOn: false,
    // The machine may be a container itself: nothing may be raised above what it has.
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    protectKernelDefaults: false,
    enforceNodeAllocatable: ["pods"],
    resolvConf: "",
    podLogsDir: join(paths.directory, "podlogs"),
    // The machine's disk is none of the tests' business.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "0%",
      "imagefs.available": "0%",
      "nodefs.inodesFree": "0%",
      "imagefs.inodesFree": "0%",
    },
    maxPods: 200,
    serializeImagePulls: false,
    registryPullQPS: 0,
    eventRecordQPS: 0,
    kubeAPIQPS: 100,
    kubeAPIBurst: 200,
    shutdownGracePeriod: "0s",
    failCgroupV1: false,
  });
}

/** Settings of containerd, version 3. */
export function containerdSettings(paths: ClusterPaths): string {
  const { directory, programs } = paths;
  const off = [
    "internal.v1.opt",
    "nri.v1.nri",
    ...["btrfs", "zfs", "devmapper", "blockfile", "erofs"].map((name) => `snapshotter.v1.${name}`),
  ];
  const tracing = ["tracing.processor.v1.otlp", "internal.v1.tracing"];
  return `version = 3
root = "${directory}/cd-root"
state = "${directory}/cd-state"
oom_score = 0
disabled_plugins = [${[...off, ...tracing].map((name) => `"io.containerd.${name}"`).join(", ")}]

[grpc]
  address = "${socket(paths)}"
[ttrpc]
  address = "${socket(paths)}.ttrpc"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "localhost/pause:1"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["${programs}/cni"]
    conf_dir = "${directory}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "${programs}/runc"
        Root = "${directory}/runc"
        SystemdCgroup = false
`;
}

/** The network of pods: one bridge without a way out, so no setting of the machine is changed. */
export function networkSettings({ directory }: ClusterPaths): string {
  const range = { subnet: "10.88.0.0/24", rangeStart: "10.88.0.10", rangeEnd: "10.88.0.250", gateway: NODE_ADDRESS };
  const ipam = {
    type: "host-local",
    dataDir: join(directory, "cni-addresses"),
    ranges: [[range]],
    routes: [{ dst: `${SERVICE_ADDRESS}/32`, gw: NODE_ADDRESS }],
  };
  const bridge = { type: "bridge", bridge: BRIDGE, isGateway: false, ipMasq: false, ipam };
  return JSON.stringify({ cniVersion: "1.0.0", name: "pods", plugins: [bridge] });
}
