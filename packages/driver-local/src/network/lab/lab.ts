import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLONE, close, inNetworkNamespace, O, open, setns, unshare } from "../../sys/libc.ts";
import { parseAddress } from "../addresses.ts";
import { linkUp, newAddress, newGatewayRoute, newVethPair } from "../netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "../netlink/socket.ts";
import { macOf } from "../plan.ts";
import { writeSysctl } from "../sysctl.ts";

/**
 * For tests: a simulated machine. This thread moves into a network namespace that plays the machine, with an uplink `eth0` to another
 * namespace that plays the outside. So nothing is sent or changed on the real machine, and all addresses of the outside answer: where a
 * sandbox can't reach an address, our rules are the reason, not an empty network.
 */
export interface Lab {
  /** Descriptor of the namespace outside. */
  readonly outside: number;
  /** An empty directory for the run and state directories. */
  readonly directory: string;
  /** Starts a process with its own namespaces, like a sandbox that is not plugged in yet. */
  sandbox(): Promise<StandIn>;
  /** Ends every process, moves the thread back into its own namespace and removes the directory. */
  end(): Promise<void>;
}

/** A process that plays a sandbox. */
export interface StandIn {
  readonly pid: number;
  /** Runs `work` (synchronously) with this thread in the network namespace of the process. */
  inside<T>(work: () => T): T;
  /** Runs a program inside, to its end; returns its standard output followed by its standard error. */
  run(...command: string[]): Promise<string>;
  end(): Promise<void>;
}

export const MACHINE = "203.0.113.2";
const OUTSIDE_GATEWAY = "203.0.113.1";
/** An address of the outside that sandboxes may reach. */
export const PUBLIC = "198.51.100.7";
/** Addresses of the outside that no sandbox may reach, though the machine can. */
export const FORBIDDEN = [
  "10.1.2.3",
  "100.100.100.200",
  "168.63.129.16",
  "169.254.169.254",
  "172.16.5.5",
  "192.0.0.192",
  "192.168.7.7",
] as const;
const MTU = 1400;

const address = (text: string): number => {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`${text} is no address`);
  return parsed;
};

function newNamespace(own: number): number {
  unshare(CLONE.NEWNET);
  try {
    return open("/proc/thread-self/ns/net", O.RDONLY);
  } finally {
    setns(own, CLONE.NEWNET);
  }
}

function withNetlink<T>(namespace: number, work: (netlink: NetlinkSocket) => T): T {
  const netlink = inNetworkNamespace(namespace, () => new NetlinkSocket(NETLINK_ROUTE));
  try {
    return work(netlink);
  } finally {
    netlink.close();
  }
}

function connectUplink(machine: number, outside: number): void {
  const end = (name: string, kind: "host" | "router", index: number) => ({
    name,
    mac: macOf(kind, address(MACHINE)),
    index,
    flags: 0,
    group: 0,
  });
  withNetlink(machine, (netlink) => {
    netlink.request(newVethPair(end("eth0", "host", 50), end("out0", "router", 51), MTU, outside));
    netlink.request(linkUp(1), linkUp(50), newAddress(address(MACHINE), 50));
    netlink.request(newGatewayRoute({ destination: 0, prefix: 0 }, address(OUTSIDE_GATEWAY), 50));
  });
  withNetlink(outside, (netlink) => {
    netlink.request(linkUp(1), linkUp(51), newAddress(address(OUTSIDE_GATEWAY), 51));
    for (const text of [PUBLIC, ...FORBIDDEN]) netlink.request(newAddress(address(text), 1));
    netlink.request(newGatewayRoute({ destination: address(MACHINE), prefix: 32 }, address(MACHINE), 51));
    // Answers to other private addresses are sent to the machine too, so that a packet with a forged or untranslated source is answered if it arrives.
    netlink.request(newGatewayRoute({ destination: address("10.0.0.0"), prefix: 8 }, address(MACHINE), 51));
  });
}

export async function openLab(): Promise<Lab> {
  const own = open("/proc/thread-self/ns/net", O.RDONLY);
  const machine = newNamespace(own);
  const outside = newNamespace(own);
  const standIns: StandIn[] = [];
  const directory = mkdtempSync(join(tmpdir(), "boxyard-net-"));
  setns(machine, CLONE.NEWNET);
  connectUplink(machine, outside);
  writeSysctl("ipv4/ip_forward", "0");
  return {
    outside,
    directory,
    async sandbox() {
      const made = await startStandIn();
      standIns.push(made);
      return made;
    },
    async end() {
      for (const standIn of standIns) await standIn.end();
      setns(own, CLONE.NEWNET);
      for (const fd of [own, machine, outside]) close(fd);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startStandIn(): Promise<StandIn> {
  const command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", "echo ready; exec sleep 600"];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit", stdin: "ignore" });
  await child.stdout.getReader().read();
  const file = `/proc/${child.pid}/ns/net`;
  return {
    pid: child.pid,
    inside(work) {
      const fd = open(file, O.RDONLY);
      try {
        return inNetworkNamespace(fd, work);
      } finally {
        close(fd);
      }
    },
    async run(...args) {
      const run = Bun.spawn(["nsenter", `--net=${file}`, ...args], { stdout: "pipe", stderr: "pipe", stdin: "ignore" });
      const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
      await run.exited;
      return out + err;
    },
    async end() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
