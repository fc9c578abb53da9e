import { openSideNetwork } from "./side-network.ts";

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

/** Makes it, with addresses of the lower half of the range for benchmarks (RFC 2544), by chance: others may be doing the same. */
export async function openOutside(): Promise<Outside> {
  const [third, fourth] = crypto.getRandomValues(new Uint8Array(2)) as unknown as [number, number];
  const [near, far] = [(fourth & 0xfc) + 1, (fourth & 0xfc) + 2].map((last) => `198.19.${third & 0x7f}.${last}`) as [string, string];
  const network = await openSideNetwork(["python3", "-c", SERVER], { near: `${near}/30`, far: [`${far}/30`] });
  return { address: far, port: PORT, [Symbol.asyncDispose]: () => network[Symbol.asyncDispose]() };
}
