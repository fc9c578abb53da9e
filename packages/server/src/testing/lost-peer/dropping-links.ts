import { join } from "node:path";

/** A program that a test runs in a namespace. */
export interface Program {
  /** Waits for a line of the output that begins with `line`; throws after 60 s, with the output in the message. */
  says(line: string): Promise<void>;
  readonly lines: readonly string[];
  /** Makes a deaf client read on. */
  hear(): void;
}

interface Namespace {
  readonly file: string;
  readonly pid: number;
}

async function command(namespace: Namespace, ...words: string[]): Promise<void> {
  const run = Bun.spawn(["nsenter", `--net=${namespace.file}`, ...words], { stderr: "pipe", stdout: "ignore", stdin: "ignore" });
  const errors = await new Response(run.stderr).text();
  if ((await run.exited) !== 0) throw new Error(`${words.join(" ")}: ${errors}`);
}

/** Three network namespaces in a row, client, machine and sandbox, joined by two links that can be made to drop everything. For tests; needs root. */
export class DroppingLinks implements AsyncDisposable {
  private readonly children: Bun.Subprocess[] = [];
  private readonly names = new Map<"client" | "machine" | "sandbox", Namespace>();
  /** Addresses: of the machine as the client sees it, and of the sandbox. */
  static readonly MACHINE = "10.99.1.1";
  static readonly SANDBOX = "10.99.2.2";

  static async open(): Promise<DroppingLinks> {
    const links = new DroppingLinks();
    try {
      for (const name of ["client", "machine", "sandbox"] as const) links.names.set(name, await links.namespace());
      await links.join("client", "10.99.1.2", DroppingLinks.MACHINE);
      await links.join("sandbox", DroppingLinks.SANDBOX, "10.99.2.1");
    } catch (error) {
      await links[Symbol.asyncDispose]();
      throw error;
    }
    return links;
  }

  /** From now on all packets into and out of this namespace are dropped. */
  async drop(name: "client" | "sandbox"): Promise<void> {
    const chain = (hook: string) => `add chain inet lost ${hook} { type filter hook ${hook} priority 0; policy drop; }`;
    await command(this.find(name), "nft", `add table inet lost; ${chain("input")}; ${chain("output")}`);
  }

  /** Starts `program.ts` there. */
  start(name: "client" | "machine" | "sandbox", ...args: string[]): Program {
    const child = Bun.spawn(["nsenter", `--net=${this.find(name).file}`, process.execPath, join(import.meta.dir, "program.ts"), ...args], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    this.children.push(child);
    return new Lines(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.children) child.kill("SIGKILL");
    await Promise.all(this.children.map((child) => child.exited));
  }

  private find(name: "client" | "machine" | "sandbox"): Namespace {
    const found = this.names.get(name);
    if (!found) throw new Error(`there is no namespace ${name}`);
    return found;
  }

  private async namespace(): Promise<Namespace> {
    const child = Bun.spawn(["unshare", "--net", "sh", "-c", "ip link set lo up; echo ready; exec sleep 600"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    this.children.push(child);
    await child.stdout.getReader().read();
    return { file: `/proc/${child.pid}/ns/net`, pid: child.pid };
  }

  private async join(name: "client" | "sandbox", theirs: string, ours: string): Promise<void> {
    const [machine, other] = [this.find("machine"), this.find(name)];
    await command(machine, "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", String(other.pid));
    for (const [where, device, address] of [
      [machine, name, ours],
      [other, "eth0", theirs],
    ] as const) {
      await command(where, "ip", "address", "add", `${address}/24`, "dev", device);
      await command(where, "ip", "link", "set", device, "up");
    }
  }
}

class Lines implements Program {
  readonly lines: string[] = [];
  private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  private readonly waiting = new Set<() => void>();

  constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.child = child;
    void this.read();
  }

  async says(line: string): Promise<void> {
    const end = performance.now() + 60_000;
    while (!this.lines.some((said) => said.startsWith(line))) {
      const left = end - performance.now();
      if (left <= 0) throw new Error(`waited for ${JSON.stringify(line)}; got ${JSON.stringify(this.lines)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        const wake = () => {
          clearTimeout(timer);
          this.waiting.delete(wake);
          resolve();
        };
        this.waiting.add(wake);
      });
    }
  }

  hear(): void {
    this.child.stdin.write("\n");
    void this.child.stdin.flush();
  }

  private async read(): Promise<void> {
    let text = "";
    for await (const piece of this.child.stdout.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const whole = text.split("\n");
      text = whole.pop() ?? "";
      this.lines.push(...whole);
      for (const wake of [...this.waiting]) wake();
    }
  }
}
