import { type ConnectionOptions, Sandbox } from "@boxyard/sdk";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { parsePort } from "../options.ts";
import { forwardPort } from "../port-forward.ts";
import { resolveSandbox } from "../sandbox-ref.ts";
import { forwardTcp } from "../tcp-forward.ts";

const EXAMPLES = `
HTTP and WebSocket requests to the local port go to the port in the sandbox. With --local connections of any protocol do (a database, SSH), each with a
link of the port that your key makes. Ctrl-C ends it.

Examples:
  $ boxyard port SANDBOX 8000            http://127.0.0.1:8000
  $ boxyard port SANDBOX 8080:80         local port 8080 to port 80 in the sandbox
  $ boxyard port SANDBOX 0:3000          any free local port
  $ boxyard port --local 5432:5432 SANDBOX
  $ boxyard port --local 0:22 SANDBOX    any free local port to port 22 in the sandbox`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Forward a local port to a port in a sandbox.")
    .argument("<sandbox>", "id, name, or beginning of the id of a sandbox")
    .argument("[port]", "port in the sandbox, or LOCAL:PORT")
    .option("--local <LOCAL:REMOTE>", "pass connections of any protocol from this local port to that port in the sandbox")
    .option("--address <address>", "local address to listen on", "127.0.0.1")
    .addHelpText("after", EXAMPLES)
    .action((id: string, ports: string | undefined, options: PortOptions) => port(id, ports, options, context));
}

interface PortOptions {
  readonly address: string;
  readonly local?: string;
}

/** How long a link of the port is good, and after what part of that a new one is made. */
const LINK_MS = 3_600_000;
const RENEW_MS = LINK_MS / 2;

async function port(text: string, ports: string | undefined, { address, local: tcp }: PortOptions, context: CliContext): Promise<void> {
  const { output, signal } = context;
  const given = tcp ?? ports;
  if (given === undefined || (tcp !== undefined && ports !== undefined)) throw usageError("give either a port or --local LOCAL:REMOTE");
  const { local, remote } = parsePorts(given);
  const target = await connection(context);
  // Without this check only the clients of the port would learn that there is no such sandbox.
  const id = await resolveSandbox(text, target);
  await Sandbox.getInfo(id, target);
  const options = { apiUrl: target.apiUrl, sandboxId: id, remote, local, address };
  const onProblem = (message: string) => output.note(`note: ${message}`);
  await using forward = await (tcp === undefined
    ? forwardPort(options)
    : forwardTcp({ ...options, link: linksOf(id, remote, target), onProblem }));
  await output.line(`${tcp === undefined ? "http://" : ""}${address}:${forward.port}`);
  output.note(output.dim(`forwards to port ${remote} of sandbox ${id}; Ctrl-C ends it`));
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Makes a link of the port when one is needed: the first time, when the last one is about to end, and when it was refused. */
function linksOf(id: string, port: number, target: ConnectionOptions): (isRefused: boolean) => Promise<URL> {
  let link: Promise<URL> | undefined;
  let madeAt = 0;
  return (isRefused) => {
    if (link && !isRefused && Date.now() < madeAt + RENEW_MS) return link;
    madeAt = Date.now();
    link = Sandboxes.getPortUrl(id, port, { ...target, expiresInMs: LINK_MS }).then(({ url }) => new URL(url));
    link.catch(() => {
      link = undefined;
    });
    return link;
  };
}

function parsePorts(text: string): { local: number; remote: number } {
  const [first = "", second, ...rest] = text.split(":");
  if (rest.length > 0) throw usageError(`'${text}' is neither PORT nor LOCAL:PORT`);
  if (second === undefined) return { local: parsePort(first), remote: parsePort(first) };
  return { local: first === "0" ? 0 : parsePort(first), remote: parsePort(second) };
}
