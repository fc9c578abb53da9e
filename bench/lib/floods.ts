/*
 * Programs (Python) that flood the network of the sandboxes. Their packets go to an address that no sandbox reaches, and to the name server: nothing leaves
 * the machine, and the router and the server have the work of each of them.
 */

/** Processes that flood at the same time. */
const PROCESSES = 4;

const flood = (setUp: string, turn: string): string => `
import os, random, socket, struct
for number in range(${PROCESSES} - 1):
    if os.fork() == 0: break
else: print("attacks", flush=True)
${setUp}
while True:
    for _ in range(64):
        try: ${turn}
        except OSError: pass
`;

const UDP = "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)";

/** By the name of what is flooded. */
export const FLOODS: Readonly<Record<string, string>> = {
  packets: flood(`${UDP}\nat = ("10.255.255.1", 9)`, "s.sendto(b'x', at)"),
  bytes: flood(`${UDP}\nat = ("10.255.255.1", 9)\npiece = bytes(1400)`, "s.sendto(piece, at)"),
  connections: flood(
    "",
    `s = socket.socket(); s.setblocking(False); s.connect_ex(("10.255.255.1", random.randrange(1, 65535))); s.close()`,
  ),
  questions: flood(
    `${UDP}
gateway = [line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver")][0]
def question():
    name = b"%08x" % random.randrange(1 << 32)
    return struct.pack(">HHHHHH", random.randrange(1 << 16), 256, 1, 0, 0, 0) + bytes([8]) + name + b"\\x07invalid\\x00" + struct.pack(">HH", 1, 1)`,
    "s.sendto(question(), (gateway, 53))",
  ),
};
