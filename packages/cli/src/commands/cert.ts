import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { makeCertificate } from "../server-control/certificates.ts";

const TEXT = `
The certificate is for DOMAIN and *.DOMAIN: the API at api.DOMAIN and the ports of sandboxes below it. An authority of this server's own signs it, in
\`tls/authority.pem\` of the data directory, which clients must be told to trust. A server that listens with the files takes new ones by itself.

Examples:
  $ boxyard cert boxyard.example
  $ boxyard cert boxyard.example --json`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Make a certificate for the server's own TLS, signed by a local authority, and print the settings.")
    .argument("<domain>", "domain of the server and of its sandboxes")
    .option("--json", "print the paths as JSON")
    .addHelpText("after", TEXT)
    .action((domain: string, options: { json?: boolean }) => cert(domain, options, context));
}

async function cert(text: string, { json }: { json?: boolean }, { config, output }: CliContext): Promise<void> {
  const domain = text.toLowerCase();
  if (!/^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(domain) || /^[\d.]+$/.test(domain))
    throw usageError(`'${text.slice(0, 100)}' is no domain`);
  const made = await makeCertificate(config.dataDir, domain);
  if (json) return output.json(made);
  await output.line(
    [
      `BOXYARD_DOMAIN=${domain}`,
      `BOXYARD_PUBLIC_URL=https://api.${domain}`,
      `BOXYARD_TLS_CERT=${made.cert}`,
      `BOXYARD_TLS_KEY=${made.key}`,
    ].join("\n"),
  );
  output.note(output.dim(`Clients trust it by SSL_CERT_FILE (Python) and NODE_EXTRA_CA_CERTS (Node): a copy of ${made.authority}`));
}
