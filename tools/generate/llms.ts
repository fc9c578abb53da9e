/** Writes `llms.txt` and `llms-full.txt`, which servers serve: what a language model needs to use Boxyard, made from the documents. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../config.ts";
import { readDocument, section, summary, withoutLinks } from "./markdown.ts";

const OUTPUT = join(ROOT, "packages/server/src/generated");
/** The address in the documents; a server puts its own in its place. */
const SERVER = "http://127.0.0.1:3000";

/** The documents for those who use sandboxes; what is for operators and contributors is not among them. */
const DOCUMENTS = [
  "README.md",
  "docs/mcp.md",
  "docs/sdk.md",
  "docs/integrations.md",
  "docs/dockerfiles.md",
  "docs/network.md",
  "docs/recordings.md",
  "docs/limitations.md",
  "docs/bounds.md",
  "docs/status-codes.md",
];

const readme = readDocument("README.md");
const short = `# Boxyard

> ${summary(readme)}

The server's address is ${SERVER}. Requests to the platform API need an API key in the header \`X-API-Key\`; on the server's machine \`boxyard env\` prints address and key
as variables for a shell, and \`boxyard env --agent\` the entry for an agent's configuration.

## Documents

- [All documents as one text](${SERVER}/llms-full.txt): ${DOCUMENTS.join(", ")}
- [Platform API](${SERVER}/openapi.json): OpenAPI, sandboxes, templates, keys
- [API of the agent in every sandbox](${SERVER}/openapi/agent.json): OpenAPI, files, commands, terminals

## A first program

${withoutLinks(section(readme, "A first program"))}

## Tools for an agent (MCP)

The server speaks the Model Context Protocol at ${SERVER}/mcp (streamable HTTP), and \`boxyard mcp\` on standard input and output.

${withoutLinks(section(readDocument("docs/mcp.md"), "Tools"))}

## The command

${withoutLinks(section(readme, "Every day"))}
`;
const full = DOCUMENTS.map((path) => `Source: ${path}\n\n${withoutLinks(readDocument(path)).trim()}\n`).join("\n---\n\n");

writeFileSync(join(OUTPUT, "llms.txt"), short);
writeFileSync(join(OUTPUT, "llms-full.txt"), full);
