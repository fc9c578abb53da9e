import { VERSION } from "@boxyard/core";
import { escapeHtml, htmlPage, PAGE_HEADERS } from "../html-page.ts";
import { SDK_PACKAGE_PATH } from "./sdk-package.ts";

const LINKS: readonly (readonly [path: string, what: string])[] = [
  ["/openapi.json", "the platform API: sandboxes, templates, keys"],
  ["/openapi/agent.json", "the API of the agent in every sandbox: files, commands, terminals"],
  ["/llms.txt", "how to use this server, for language models"],
  ["/health", "says that the server answers"],
];

/** The page for a person who opens the server's address in a browser. Programs get the 404 of a path without an operation. */
export function startPage(origin: string): Response {
  const list = LINKS.map(([path, what]) => `<li><a href="${path}"><code>${path}</code></a>: ${what}</li>`).join("");
  const content =
    `<h1>Boxyard ${VERSION}</h1>` +
    "<p>This server runs code in isolated sandboxes, for programs that call it with an API key. This is its only page.</p>" +
    `<ul>${list}</ul>` +
    `<p>The TypeScript client that fits this server: <code>npm install ${escapeHtml(origin)}${SDK_PACKAGE_PATH}</code>. ` +
    "On the server's machine, <code>./boxyard env</code> prints the address and the key for clients.</p>" +
    "<p><code>README.md</code> and <code>docs/</code> of the checkout describe how to use and run it.</p>";
  return new Response(htmlPage(`Boxyard ${VERSION}`, content), { headers: new Headers([...PAGE_HEADERS] as [string, string][]) });
}
