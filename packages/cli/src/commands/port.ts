import { Sandbox } from "@boxyard/sdk";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { parsePort } from "../options.ts";
import { forwardPort } from "../port-forward.ts";
import { resolveSandbox } from "../sandbox-ref.ts";

const EXAMPLES = `
HTTP and WebSocket requests to the local port go to the port in the sandbox. Ctrl-C ends it.

Examples:
  $ boxyard port SANDBOX 8000            http://127.0.0.1:8000
  $ boxyard port SANDBOX 8080:80         local port 8080 to port 80 in the sandbox
  $ boxyard port SANDBOX 0:3000          any free local port`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Forward a local port to a port in a sandbox.")
    .argument("<sandbox>", "id, name, or beginning of the id of a sandbox")
    .argument("<port>", "port in the sandbox, or LOCAL:PORT")
    .option("--address <address>", "local address to listen on", "127.0.0.1")
    .addHelpText("after", EXAMPLES)
    .action((id: string, ports: string, options: { address: string }) => port(id, ports, options, context));
}

async function port(text: string, ports: string, options: { address: string }, context: CliContext): Promise<void> {
  const { output, signal } = context;
  const { local, remote } = parsePorts(ports);
  const target = await connection(context);
  // Without this check only the clients of the port would learn that there is no such sandbox.
  const id = await resolveSandbox(text, target);
  await Sandbox.getInfo(id, target);
  const { apiUrl } = target;
  await using forward = await forwardPort({ apiUrl, sandboxId: id, remote, local, address: options.address });
  await output.line(`http://${options.address}:${forward.port}`);
  output.note(output.dim(`forwards to port ${remote} of sandbox ${id}; Ctrl-C ends it`));
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function parsePorts(text: string): { local: number; remote: number } {
  const [first = "", second, ...rest] = text.split(":");
  if (rest.length > 0) throw usageError(`'${text}' is neither PORT nor LOCAL:PORT`);
  if (second === undefined) return { local: parsePort(first), remote: parsePort(first) };
  return { local: first === "0" ? 0 : parsePort(first), remote: parsePort(second) };
}
