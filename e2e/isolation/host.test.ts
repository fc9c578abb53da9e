import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { plantSecret } from "./support/secret.ts";

/* What is tried here is tried as root of the sandbox; each test names a guarantee of SECURITY.md. */

const platform = usePlatform();

/** Tries a TCP connection from inside and prints `open` and what came, or the error's name. */
const CONNECT = `
import socket, sys
s = socket.socket(); s.settimeout(2)
try:
    s.connect((sys.argv[1], int(sys.argv[2]))); s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); print("open", s.recv(200))
except Exception as error: print(type(error).__name__)
`;

/** What `CONNECT` prints when there is no connection. */
const FAILED = expect.stringMatching(/^(ConnectionRefusedError|TimeoutError|OSError)$/);

async function connectFrom(sandbox: HeldSandbox, host: string, port: number): Promise<string> {
  await sandbox.client.files.write("/tmp/connect.py", CONNECT);
  return (await sandbox.asRoot(`python3 /tmp/connect.py ${host} ${port}`)).stdout.trim();
}

const addressOf = async (sandbox: HeldSandbox) => (await sandbox.asRoot("hostname -I")).stdout.trim().split(" ")[0] ?? "";
const gatewayOf = async (sandbox: HeldSandbox) =>
  (
    await sandbox.asRoot(`python3 -c 'import socket,struct
for line in open("/proc/net/route").read().split("\\n")[1:]:
  f=line.split()
  if f and f[1]=="00000000": print(socket.inet_ntoa(struct.pack("<L",int(f[2],16))))'`)
  ).stdout.trim();

test("the host's files and the environment of its processes can't be read", async () => {
  await using sandbox = await createSandbox(platform());
  await using secret = await plantSecret();
  expect((await sandbox.asRoot(`cat ${secret.path}`)).exitCode).toBe(1);
  expect((await sandbox.asRoot(`cat /proc/${secret.pid}/environ`)).exitCode).toBe(1);
  // The ways round a root directory: other processes' roots, file handles, the disk itself.
  const search = `for r in /proc/[0-9]*; do cat $r/root${secret.path} $r/cwd${secret.path} $r/environ; done; cat /dev/vda /dev/sda | head -c 1000000; grep -rlsa ${secret.text.slice(0, 30)} /tmp /var /root /home /run /.boxyard`;
  const found = await sandbox.asRoot(`(${search}) 2>/dev/null | tr '\\0' '\\n'`);
  expect(found.stdout).toContain("E2B_SANDBOX_ID="); // Environments were read: those of the sandbox's own processes.
  expect(found.stdout).not.toContain(secret.text);
  const handle = `python3 -c 'import ctypes,os
libc=ctypes.CDLL(None,use_errno=True)
fd=os.open("/",os.O_RDONLY)
handle=(ctypes.c_char*128)()
ctypes.memmove(handle,(8).to_bytes(4,"little")+(1).to_bytes(4,"little")+(2).to_bytes(4,"little")+bytes(4),16)
print(libc.open_by_handle_at(fd,handle,0),ctypes.get_errno())'`;
  expect((await sandbox.asRoot(handle)).stdout).toMatch(/^-1 (1|38)\n$/);
});

test("the host's own services can't be reached: loopback, every address of the host, the gateway, the platform's API", async () => {
  await using sandbox = await createSandbox(platform());
  const service = Bun.serve({ port: 0, hostname: "0.0.0.0", fetch: () => new Response("host service") });
  try {
    const { port } = service;
    if (port === undefined) throw new Error("the service has no port");
    const addresses = Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).filter((entry) => entry.family === "IPv4").map((entry) => entry.address),
    );
    const gateway = await gatewayOf(sandbox);
    expect(gateway).toMatch(/^10\./);
    for (const host of new Set(["127.0.0.1", gateway, ...addresses])) {
      expect([host, await connectFrom(sandbox, host, port)]).toEqual([host, FAILED]);
    }
    const api = Number(new URL(platform().apiUrl).port);
    for (const host of ["127.0.0.1", gateway]) expect([host, await connectFrom(sandbox, host, api)]).toEqual([host, FAILED]);
  } finally {
    await service.stop(true);
  }
});

test("another sandbox can't be reached by its address", async () => {
  await using server = await createSandbox(platform());
  await using client = await createSandbox(platform());
  await server.asRoot("nohup python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1 & sleep 1");
  const address = await addressOf(server);
  expect(address).toMatch(/^10\./);
  // The server does answer, to itself, so what fails below fails for the reason we mean.
  expect(await connectFrom(server, address, 8000)).toContain("open");
  expect(await connectFrom(client, address, 8000)).toEqual(FAILED);
  expect(await connectFrom(client, address, 49983)).toEqual(FAILED);
  expect((await client.asRoot(`ping -c1 -W2 ${address}`)).exitCode).not.toBe(0);
});

test("nothing can be mounted", async () => {
  await using sandbox = await createSandbox(platform());
  // The image has neither mount nor umount. 4096: MS_BIND, 32: MS_REMOUNT, 2: MNT_DETACH.
  const script = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for call in (
    ("mount", b"none", b"/mnt", b"tmpfs", 0, None),
    ("mount", b"/etc", b"/mnt", None, 4096, None),
    ("mount", b"proc", b"/mnt", b"proc", 0, None),
    ("mount", b"overlay", b"/mnt", b"overlay", 0, b"lowerdir=/etc,upperdir=/tmp,workdir=/var/tmp"),
    ("mount", b"none", b"/sys", None, 32, None),
    ("umount2", b"/proc", 2),
    ("umount2", b"/.boxyard", 2),
):
    print(call[0], getattr(libc, call[0])(*call[1:]), ctypes.get_errno())`;
  const { stdout } = await sandbox.asRoot(`python3 -c '${script}'`);
  expect(stdout.trim().split("\n")).toEqual([...Array(5).fill("mount -1 1"), ...Array(2).fill("umount2 -1 1")]);
});

test("no kernel module can be loaded", async () => {
  await using sandbox = await createSandbox(platform());
  const call = `python3 -c 'import ctypes
libc=ctypes.CDLL(None,use_errno=True)
for number in (175,313,246,320,169):  # init_module finit_module kexec_load kexec_file_load reboot
  print(number, libc.syscall(number,0,0,0,0,0), ctypes.get_errno())'`;
  const { stdout } = await sandbox.asRoot(call);
  const lines = stdout.trim().split("\n");
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(line).toMatch(/^\d+ -1 (1|38)$/);
});

test("another sandbox's files can't be seen", async () => {
  await using one = await createSandbox(platform());
  await using other = await createSandbox(platform());
  const secret = `sandbox-secret-${crypto.randomUUID()}`;
  await one.client.files.write("/home/user/secret.txt", secret);
  // The search finds the file where it is.
  expect((await one.asRoot(`grep -rls ${secret} /home`)).stdout).toBe("/home/user/secret.txt\n");
  expect((await other.asRoot("cat /home/user/secret.txt")).exitCode).toBe(1);
  expect((await other.asRoot(`grep -rls ${secret} / --exclude-dir=proc --exclude-dir=sys`, { timeoutMs: 50_000 })).stdout).toBe("");
  expect((await other.asRoot("ls /.boxyard /.boxyard/host")).stdout).not.toContain(one.id);
});

test("processes, hostname and users are the sandbox's own", async () => {
  await using sandbox = await createSandbox(platform());
  const processes = (await sandbox.asRoot("ps -eo args")).stdout;
  expect(processes).not.toContain("packages/server/src/main.");
  expect(processes.trim().split("\n").length).toBeLessThan(12);
  // Root inside is nobody outside: the kernel's own words.
  const map = (await sandbox.asRoot("cat /proc/self/uid_map")).stdout.trim().split(/\s+/).map(Number);
  expect(map[0]).toBe(0);
  expect(map[1]).toBeGreaterThanOrEqual(65_536);
  expect(map[2]).toBe(65_536);
});

test("two sandboxes never share a range of user ids", async () => {
  await using one = await createSandbox(platform());
  await using other = await createSandbox(platform());
  const start = async (sandbox: HeldSandbox) => Number((await sandbox.asRoot("cat /proc/self/uid_map")).stdout.trim().split(/\s+/)[1]);
  expect(Math.abs((await start(one)) - (await start(other)))).toBeGreaterThanOrEqual(65_536);
});
