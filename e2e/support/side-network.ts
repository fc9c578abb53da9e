import { writeFileSync } from "node:fs";
import { runProgram } from "@boxyard/testkit";

/** A program in a network namespace of its own, which the machine reaches by a link, and sandboxes as far as they may. */
export interface SideNetwork extends AsyncDisposable {
  readonly pid: number;
}

export interface SideNetworkOptions {
  /** The machine's end of the link: `198.19.1.1/24`. */
  readonly near: string;
  /** The addresses of the namespace, with the same prefix. */
  readonly far: readonly string[];
}

async function ip(...args: string[]): Promise<void> {
  const { exitCode, stderr } = await runProgram(["ip", ...args]);
  if (exitCode !== 0) throw new Error(`ip ${args.join(" ")} failed: ${stderr}`);
}

/** Starts `argv`, which waits for a line on its standard input before it uses its addresses, and says `ready` when it serves. Ends with its process. */
export async function openSideNetwork(argv: readonly string[], { near, far }: SideNetworkOptions): Promise<SideNetwork> {
  const child = Bun.spawn(["unshare", "--net", "sh", "-c", 'echo made; read line; exec "$@"', "sh", ...argv], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const link = `bo${crypto.randomUUID().slice(0, 8)}`;
  const end = async () => {
    child.kill("SIGKILL");
    await child.exited;
    // By hand: connections that are still closing keep the namespace for a while.
    await runProgram(["ip", "link", "delete", link]);
  };
  try {
    const said = child.stdout.getReader();
    const hears = async (word: string) => {
      const { value } = await said.read();
      if (!new TextDecoder().decode(value).includes(word)) throw new Error(`${argv[0]} did not say ${word}`);
    };
    await hears("made");
    await ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", `${child.pid}`);
    await ip("addr", "add", near, "dev", link);
    await ip("link", "set", link, "up");
    writeFileSync(`/proc/sys/net/ipv4/conf/${link}/forwarding`, "1");
    const inside = ["link set lo up", ...far.map((address) => `addr add ${address} dev eth0`), "link set eth0 up"];
    const { exitCode, stderr } = await runProgram(
      ["nsenter", "-t", `${child.pid}`, "-n", "sh", "-ec", inside.map((line) => `ip ${line}`).join("\n")],
      {},
    );
    if (exitCode !== 0) throw new Error(`ip failed in the namespace: ${stderr}`);
    child.stdin.write("go\n");
    await child.stdin.end();
    await hears("ready");
    return { pid: child.pid, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}
