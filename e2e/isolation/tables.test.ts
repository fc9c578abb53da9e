import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { ALLOWED, standGuard } from "./support/guard.ts";
import { python } from "./support/python.ts";

/* Tables of the kernel's that the whole machine shares: attempts to fill them. SECURITY.md lists them and points here by name. */

const platform = usePlatform();

/** What the network namespace of the sandboxes' router shows in a file of /proc/net. */
async function routerFile(name: string): Promise<string> {
  const { instance } = JSON.parse(readFileSync(join(platform().dataDir, "instance.json"), "utf8")) as { instance: string };
  return (await runProgram(["nsenter", `--net=/run/boxyard/boxyard-${instance}`, "cat", `/proc/net/${name}`])).stdout;
}

describe("a share for each sandbox", () => {
  test("terminals end at a number of its own, and others still get theirs", async () => {
    await using greedy = await createSandbox(platform());
    await using modest = await createSandbox(platform());
    const take = `
import errno, os, resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))
held = []
try:
    while len(held) < 1500: held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    print(len(held), "none", flush=True)
except OSError as error: print(len(held), errno.errorcode[error.errno], flush=True)
`;
    const [made, why] = (await python(greedy, take)).stdout.trim().split(" ");
    expect(why).toBe("ENOSPC");
    expect(Number(made)).toBeLessThanOrEqual(256);
    expect(Number(made)).toBeGreaterThan(100);
    await greedy.client.files.write("/tmp/hold.py", `${take}\ntime.sleep(60)`);
    const holding = await greedy.client.commands.run("python3 /tmp/hold.py", { background: true, user: "root", timeoutMs: 0 });
    await eventually("all of them are held", () => holding.stdout.includes("ENOSPC"));
    expect((await modest.asRoot("script -qec 'tty' /dev/null || python3 -c 'import pty; pty.openpty(); print(1)'")).exitCode).toBe(0);
  });

  test("a process begins with 1,024 files, and takes no more than the hard limit", async () => {
    await using sandbox = await createSandbox(platform());
    for (const user of ["user", "root"] as const) {
      const { stdout } = await sandbox.asRoot("ulimit -Sn; ulimit -Hn; ulimit -i; ulimit -q", { user });
      const [soft, hard, signals, queues] = stdout.trim().split("\n").map(Number);
      expect(soft).toBe(1024);
      expect(hard).toBeLessThanOrEqual(16_384);
      expect(signals).toBeLessThanOrEqual(16_384);
      expect(queues).toBeLessThanOrEqual(819_200);
    }
  });
});

describe("tables of the network", () => {
  test("fragments stay out of the router's memory for incomplete packets, whatever sender they name", async () => {
    await using _guard = await standGuard(platform(), [ALLOWED]);
    await using sandbox = await createSandbox(platform());
    const { stdout } = await python(
      sandbox,
      `
import socket, struct
own = open("/proc/net/fib_trie").read()
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x800))
packets.bind(("eth0", 0x800))
sender = [line.split()[-1] for line in own.splitlines() if "|--" in line and not line.strip().endswith((".0", "127.0.0.1", ".255"))][0]
def head(source, number):
    # The first part (MF) of a UDP packet, of which no other part comes.
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + 64, number, 0x2000, 64, 17, 0, socket.inet_aton(source), socket.inet_aton("${ALLOWED}")) + bytes(64)
sent = 0
for number in range(200):
    raw.sendto(head(sender, number), ("${ALLOWED}", 0)); sent += 1
    try: packets.send(head("10.9.8.%d" % (number % 250), number))
    except OSError: pass
print(sender, sent)
`,
    );
    expect(stdout).toMatch(/ 200\n$/);
    const inUse = /^FRAG: inuse (\d+) memory (\d+)$/m.exec(await routerFile("sockstat"));
    expect(inUse?.slice(1)).toEqual(["0", "0"]);
  });

  test("no IPv6 flow label is leased, of which the machine has one number for all", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await python(
      sandbox,
      `
import errno, socket, struct
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(41, socket.IPV6_V6ONLY, 1)
request = socket.inet_pton(socket.AF_INET6, "::1") + bytes(4) + struct.pack("=BBHHHI", 0, 1, 1, 60, 60, 0)
try: s.setsockopt(41, 32, request); print("leased")
except OSError as e: print(errno.errorcode[e.errno])
`,
    );
    expect(stdout).toBe("ENOPROTOOPT\n");
  });

  test("no neighbour is looked for, in the one table that all namespaces share", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await python(
      sandbox,
      `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
s.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)
sent = 0
for i in range(300):
    try: s.sendto(b"x", ("198.51.%d.%d" % (100 + i // 250, 1 + i % 250), 9)); sent += 1
    except OSError: pass
# Lines but the first are neighbours; flags 0x0: somebody is being looked for.
print(sent, sum(1 for line in open("/proc/net/arp").readlines()[1:] if line.split()[2] == "0x0"))
`,
      "user",
    );
    expect(stdout).toBe("300 0\n");
  });
});
