import { shellWord } from "@boxyard/sdk/shell-word";
import { type Command, Option } from "commander";
import { type CliConfig, urlOfListen } from "../config.ts";
import { isRemote, readApiKey } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { ownPath } from "../server-control/self-command.ts";

interface EnvOptions {
  readonly domain?: string;
  readonly json?: boolean;
  readonly agent?: "stdio" | "http";
}

/** A host name, with or without a port. */
const DOMAIN = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?$/;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Print the variables that our SDK and the `e2b` clients need, as lines for a shell.")
    .option("--domain <domain>", "domain whose names <port>-<sandbox>.<domain> lead to the server (the server's BOXYARD_DOMAIN)")
    .option("--json", "print them as a JSON object")
    .addOption(
      new Option(
        "--agent [how]",
        "print the entry for an agent's configuration (mcpServers, JSON): it starts `boxyard mcp`, or uses the server's /mcp",
      )
        .choices(["stdio", "http"])
        .preset("stdio"),
    )
    .addHelpText("after", '\nExamples:\n  $ eval "$(boxyard env)"\n  $ boxyard env --domain boxes.example.com\n  $ boxyard env --json')
    .action((options: EnvOptions) => printEnv(options, context));
}

async function printEnv(options: EnvOptions, context: CliContext): Promise<void> {
  const { output } = context;
  const variables = await clientVariables(options.domain, context);
  if (options.agent) return output.line(JSON.stringify(agentConfiguration(variables, options.agent, context.config), null, 2));
  if (options.json) return output.json(variables);
  for (const [name, value] of Object.entries(variables)) await output.line(`export ${name}=${shellWord(value)}`);
}

async function clientVariables(given: string | undefined, context: CliContext): Promise<Record<string, string>> {
  const { config } = context;
  const url = isRemote(config) ? (config.apiUrl as string) : await localUrl(context);
  const key = config.apiKey ?? (isRemote(config) ? "" : readApiKey(config.dataDir));
  const { host, hostname, port } = new URL(url);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  const own = given ?? (config.env.BOXYARD_DOMAIN || undefined);
  if (own !== undefined && !DOMAIN.test(own)) throw usageError(`'${own}' is not a domain; give one like boxes.example.com`);
  const domain = own ?? (isLoopback ? `localhost${port ? `:${port}` : ""}` : host);
  return {
    BOXYARD_API_URL: url,
    BOXYARD_API_KEY: key,
    ...(own === undefined ? {} : { BOXYARD_DOMAIN: own }),
    E2B_API_URL: url,
    E2B_SANDBOX_URL: url,
    E2B_VOLUME_API_URL: url,
    E2B_API_KEY: key,
    E2B_DOMAIN: domain,
  };
}

/** The entry that agents' clients (Claude Code, Cursor, VS Code, …) have in common for a server that they start, or that answers at a URL. */
function agentConfiguration(
  { BOXYARD_API_URL, BOXYARD_API_KEY }: Record<string, string>,
  how: "stdio" | "http",
  config: CliConfig,
): object {
  if (how === "http") {
    return { mcpServers: { boxyard: { type: "http", url: `${BOXYARD_API_URL}/mcp`, headers: { "X-API-Key": BOXYARD_API_KEY } } } };
  }
  // The client starts the command with no other settings, and the command may have to start this machine's server.
  const { BOXYARD_DATA, BOXYARD_LISTEN } = isRemote(config) ? {} : config.env;
  const local = { ...(BOXYARD_DATA && { BOXYARD_DATA }), ...(BOXYARD_LISTEN && { BOXYARD_LISTEN }) };
  const env = { BOXYARD_API_URL, BOXYARD_API_KEY, ...local };
  return { mcpServers: { boxyard: { command: ownPath(), args: ["mcp"], env } } };
}

/** Where the server is, or, when none runs, where it will be. */
async function localUrl(context: CliContext): Promise<string> {
  const { config, output } = context;
  const { isAlive, readServerFile } = await import("../server-control/server-file.ts");
  const file = readServerFile(config.dataDir);
  if (file && isAlive(file)) return file.url;
  output.note("note: no server is running; `boxyard up -d` starts one");
  return urlOfListen(config.listen);
}
