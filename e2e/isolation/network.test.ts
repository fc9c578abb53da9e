import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { BlockList, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { ALLOWED, standGuard, takenByRouter } from "./support/guard.ts";
import { python } from "./support/python.ts";

/* Attempts of a sandbox's root over its network. Nothing that is tried here leaves the machine. SECURITY.md points here by name. */

const platform = usePlatform();

const addressOf = async (sandbox: HeldSandbox) => (await sandbox.asRoot("hostname -I")).stdout.trim().split(" ")[0] ?? "";

/** Of each kind of address that no sandbox may reach. */
const FORBIDDEN = [
  "169.254.169.254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.0.1",
  "100.64.0.1",
];

/** The machine's name servers, but for public ones: those every sandbox may ask as anybody may. */
function nameServers(): string[] {
  const inside = new BlockList();
  for (const [net, prefix] of [
    ["10.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
    ["100.64.0.0", 10],
    ["169.254.0.0", 16],
    ["127.0.0.0", 8],
  ] as const) {
    inside.addSubnet(net, prefix, "ipv4");
  }
  const named = [...readFileSync("/etc/resolv.conf", "utf8").matchAll(/^nameserver\s+(\S+)/gm)].map((match) => match[1] ?? "");
  return named.filter((address) => isIPv4(address) && inside.check(address, "ipv4"));
}

/** Asks by UDP and connects by TCP to the addresses in its arguments; a line for each: what came, or the error. */
const ASK = `
import socket, struct, sys
question = struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\\x07example\\x04test\\x00" + struct.pack("!HH", 1, 1)
def attempt(host, port, kind):
    s = socket.socket(socket.AF_INET, kind); s.settimeout(0.4)
    try:
        s.connect((host, port)); s.sendall(question if kind == socket.SOCK_DGRAM else struct.pack("!H", len(question)) + question)
        return "answered" if s.recv(512) is not None else ""
    except OSError as error: return type(error).__name__
for host in sys.argv[1:]:
    for port in (53, 80):
        for name, kind in (("udp", socket.SOCK_DGRAM), ("tcp", socket.SOCK_STREAM)): print(host, port, name, attempt(host, port, kind), flush=True)
`;

test("the machine's name servers, metadata services and private addresses are refused before a packet reaches the machine", async () => {
  await using sandbox = await createSandbox(platform());
  const targets = [...nameServers(), ...FORBIDDEN];
  await using guard = await standGuard(platform(), [...targets, ALLOWED]);
  await sandbox.client.files.write("/tmp/ask.py", ASK);
  const { stdout } = await sandbox.asRoot(`python3 /tmp/ask.py ${[...targets, ALLOWED].join(" ")}`);
  const lines = stdout.trim().split("\n");
  expect(lines).toHaveLength(4 * (targets.length + 1));
  expect(lines.filter((line) => line.endsWith("answered"))).toEqual([]);
  // The same attempt at an address that is allowed does come through: what is counted below counts.
  expect(await guard.counted(ALLOWED)).toBeGreaterThan(0);
  for (const target of targets) expect([target, await guard.counted(target)]).toEqual([target, 0]);
});

/** What sends frames: `frame(to, kind, body)`; `ip`, `udp`, `arp` make bodies. */
const FRAMES = `
import socket, struct, sys, time
target, own, marker = sys.argv[1], sys.argv[2], sys.argv[3].encode()
packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); packet.bind(("eth0", 0))
me = packet.getsockname()[4]
gateway = [l.split() for l in open("/proc/net/arp")][1]
router = bytes.fromhex(gateway[3].replace(":", ""))
neighbour = bytes([2, 0x62]) + socket.inet_aton(target)
everybody = b"\\xff" * 6
def frame(to, kind, body): return to + me + struct.pack("!H", kind) + body
def checksum(head):
    total = sum(struct.unpack("!10H", head)); total = (total >> 16) + (total & 0xffff); return ~(total + (total >> 16)) & 0xffff
def ip(source, to):
    udp = struct.pack("!HHHH", 53, 5353, 8 + len(marker), 0) + marker
    head = struct.pack("!BBHHHBBH4s4s", 69, 0, 20 + len(udp), 1, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(to))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + udp
def arp(operation, claimed, to): return struct.pack("!HHBBH", 1, 0x800, 6, 4, operation) + me + socket.inet_aton(claimed) + to + socket.inet_aton(target) + marker
def ip6(to): return struct.pack("!IHBB", 6 << 28, 8 + len(marker), 17, 64) + bytes.fromhex("fe80" + "00" * 13 + "77") + to + struct.pack("!HHHH", 53, 5353, 8 + len(marker), 0) + marker
attempts = {
  "arp who has the neighbour": frame(everybody, 0x806, arp(1, own, b"\\0" * 6)),
  "arp that claims the gateway": frame(everybody, 0x806, arp(2, gateway[0], everybody)),
  "arp to the neighbour itself": frame(neighbour, 0x806, arp(2, gateway[0], neighbour)),
  "udp to the neighbour itself": frame(neighbour, 0x800, ip(own, target)),
  "udp by the router": frame(router, 0x800, ip(own, target)),
  "udp in the name of another": frame(router, 0x800, ip("8.8.8.8", target)),
  "udp in the name of the gateway": frame(router, 0x800, ip(gateway[0], target)),
  "udp to all": frame(everybody, 0x800, ip(own, "255.255.255.255")),
  "ipv6 to all": frame(b"\\x33\\x33\\0\\0\\0\\1", 0x86dd, ip6(bytes.fromhex("ff02" + "00" * 13 + "01"))),
  "ipv6 by the router": frame(router, 0x86dd, ip6(bytes.fromhex("20010db8" + "00" * 11 + "01"))),
  "a vlan": frame(neighbour, 0x8100, struct.pack("!HH", 7, 0x800) + ip(own, target)),
}
for name, bytes_ in attempts.items():
    for _ in range(3): sent = packet.send(bytes_)
    print("sent", name) if sent == len(bytes_) else print("not sent", name)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for source in (own, "8.8.8.8"):
    try: raw.sendto(ip(source, target), (target, 0)); print("sent raw socket as", source)
    except OSError as error: print("sent raw socket, refused:", error.strerror)
# Who answers by ARP? Frames that we sent ourselves are marked as outgoing.
answers = 0; packet.settimeout(0.3); end = time.time() + 1
while time.time() < end:
    try: data, about = packet.recvfrom(2048)
    except TimeoutError: continue
    if about[2] != socket.PACKET_OUTGOING and data[12:14] == b"\\x08\\x06": answers += 1
print("answers by arp:", answers)
`;

/** Hears everything that comes in by the link, and says which of the marked frames there were, until the last mark. */
const LISTEN = `
import socket, sys, time
mark, last = sys.argv[1].encode(), sys.argv[2].encode()
packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); packet.bind(("eth0", 0)); packet.settimeout(1)
print("listening", flush=True)
end = time.time() + 30
while time.time() < end:
    try: data, about = packet.recvfrom(65535)
    except TimeoutError: continue
    if about[2] == socket.PACKET_OUTGOING: continue
    if mark in data: print("heard an attempt", data.hex(), flush=True)
    if last in data: print("heard the server", flush=True); break
`;

test("neither frames, nor ARP, nor forged senders, nor IPv6 reach a neighbour", async () => {
  await using attacker = await createSandbox(platform());
  await using neighbour = await createSandbox(platform());
  const [from, to] = [await addressOf(attacker), await addressOf(neighbour)];
  const [mark, last] = [crypto.randomUUID().slice(0, 18), crypto.randomUUID()];
  await neighbour.client.files.write("/tmp/listen.py", LISTEN);
  const listening = await neighbour.client.commands.run(`python3 /tmp/listen.py ${mark} ${last}`, { background: true, user: "root" });
  await eventually("it listens", () => listening.stdout.includes("listening"));
  const before = await takenByRouter(platform(), from);

  await using guard = await standGuard(platform(), [to]);
  await attacker.client.files.write("/tmp/frames.py", FRAMES);
  const { stdout, stderr } = await attacker.asRoot(`python3 /tmp/frames.py ${to} ${from} ${mark}`);
  const lines = stdout.trim().split("\n");
  expect([stderr, lines.filter((line) => line.startsWith("sent"))]).toEqual(["", expect.any(Array)]);
  expect(lines.filter((line) => line.startsWith("sent"))).toHaveLength(11 + 2);
  expect(lines.at(-1)).toBe("answers by arp: 0");
  // The frames did leave the sandbox: the router took every one of them from its link, and that is as far as they came.
  expect((await takenByRouter(platform(), from)) - before).toBeGreaterThanOrEqual(11 * 3);
  expect([await guard.counted(to), await guard.counted("ipv6")]).toEqual([0, 0]);

  // What the server sends is heard: the listener would have heard the rest.
  const headers = { "Svc-Sandbox-Id": neighbour.id, "Svc-Sandbox-Port": "49983", "X-Mark": last };
  expect((await fetch(`${platform().apiUrl}/health`, { headers })).status).toBe(204);
  expect((await listening.wait()).stdout).toBe("listening\nheard the server\n");
}, 60_000);

test("there is no IPv6, and none can be switched on", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await python(
    sandbox,
    `
import os, socket, subprocess
subprocess.run("sysctl -w net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.eth0.disable_ipv6=0; ip -6 addr add fe80::77/64 dev eth0", shell=True, capture_output=True)
lines = [line.split() for line in open("/proc/net/if_inet6")] if os.path.exists("/proc/net/if_inet6") else []
print("addresses", [f[0] for f in lines if f[5] != "lo"])
for target in ("fe80::1%eth0", "ff02::1%eth0", "2001:db8::1"):
    try: where = socket.getaddrinfo(target, 5353)[0][4]; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", where); print("sent")
    except OSError: print("refused")
`,
  );
  expect(stdout).toBe("addresses []\nrefused\nrefused\nrefused\n");
});

test("the own address and the rules outside can't be changed to get round", async () => {
  await using sandbox = await createSandbox(platform());
  const service = Bun.serve({ port: 0, hostname: "0.0.0.0", fetch: () => new Response("host service") });
  try {
    const hosts = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).filter(({ family }) => family === "IPv4"));
    const { stdout } = await python(
      sandbox,
      `
import socket, subprocess
for command in ("ip addr add 10.255.0.9/32 dev eth0", "ip route add 10.0.0.0/8 dev eth0", "ip link set eth0 promisc on", "nft flush ruleset", "iptables -F", "sysctl -w net.ipv4.ip_forward=1"):
    subprocess.run(command, shell=True, capture_output=True)
for host in (${hosts.map(({ address }) => `"${address}"`).join(", ")}, "127.0.0.1"):
    s = socket.socket(); s.settimeout(2)
    try: s.connect((host, ${service.port})); s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); print("open", s.recv(100))
    except OSError: print("closed")
`,
    );
    expect(stdout).toBe("closed\n".repeat(hosts.length + 1));
  } finally {
    await service.stop(true);
  }
});

test("the gateway answers DNS and nothing else", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await python(
    sandbox,
    `
import concurrent.futures, re, socket
gateway = re.search(r"nameserver (\\S+)", open("/etc/resolv.conf").read()).group(1)
def is_open(port):
    s = socket.socket(); s.settimeout(1)
    try: s.connect((gateway, port)); return port
    except OSError: return None
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    print([p for p in pool.map(is_open, [*range(1, 1025), 2375, 2376, 3000, 3306, 5432, 6379, 6443, 8000, 8080, 8443, 9090, 10250]) if p])
`,
  );
  expect(stdout).toBe("[53]\n");
}, 60_000);
