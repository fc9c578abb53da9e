import { writeFileSync } from "node:fs";
import { runProgram } from "@boxyard/testkit";

/** A host beyond the machine, in a network namespace of its own, that greets each TCP connection and then gives every line back. */
export interface Outside extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
}

const PORT = 7;
const SERVER = `
import socketserver
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"hello\\n")
        for line in self.rfile:
            self.wfile.write(line)
socketserver.ThreadingTCPServer.daemon_threads = True
server = socketserver.ThreadingTCPServer(("0.0.0.0", ${PORT}), Echo)
print("ready", flush=True)
server.serve_forever()
`;

async function ip(...args: string[]): Promise<void> {
  const { exitCode, stderr } = await runProgram(["ip", ...args]);
  if (exitCode !== 0) throw new Error(`ip ${args.join(" ")} failed: ${stderr}`);
}

/** Makes it, with a link and addresses of the range for benchmarks (RFC 2544), by chance: others may be doing the same. Ends with its process. */
export async function openOutside(): Promise<Outside> {
  const child = Bun.spawn(["unshare", "--net", "python3", "-c", SERVER], { stdout: "pipe", stderr: "inherit" });
  const link = `bo${crypto.randomUUID().slice(0, 8)}`;
  const end = async () => {
    child.kill("SIGKILL");
    await child.exited;
    // By hand: connections that are still closing keep the namespace for a while.
    await runProgram(["ip", "link", "delete", link]);
  };
  try {
    const [third, fourth] = crypto.getRandomValues(new Uint8Array(2)) as unknown as [number, number];
    const base = `198.19.${third}`;
    const [near, far] = [(fourth & 0xfc) + 1, (fourth & 0xfc) + 2].map((last) => `${base}.${last}`) as [string, string];
    await child.stdout.getReader().read();
    await ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", `${child.pid}`);
    await ip("addr", "add", `${near}/30`, "dev", link);
    await ip("link", "set", link, "up");
    writeFileSync(`/proc/sys/net/ipv4/conf/${link}/forwarding`, "1");
    for (const args of [
      ["addr", "add", `${far}/30`, "dev", "eth0"],
      ["link", "set", "eth0", "up"],
    ]) {
      const { exitCode, stderr } = await runProgram(["nsenter", "-t", `${child.pid}`, "-n", "ip", ...args]);
      if (exitCode !== 0) throw new Error(`ip ${args.join(" ")} failed outside: ${stderr}`);
    }
    return { address: far, port: PORT, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}
