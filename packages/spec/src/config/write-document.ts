/** Writes `docs/configuration.md`. Run it after a change of the table of settings; a check compares the result with git. */
import { SETTINGS, type Setting } from "./index.ts";

const HEAD = `<!-- Written by packages/spec/src/config/write-document.ts from the table of settings beside it; edit that. -->

# Configuration

All settings are environment variables. A variable that is unset or empty has its default. An invalid value ends the program with an error that
names the variable. \`boxyard up\` and every command that starts a server pass their variables on to it. A running server keeps the values that it
was started with: restart it (\`boxyard down\`, \`boxyard up -d\`) for new values. Sandboxes keep running meanwhile. \`bun packages/server/src/main.ts
--print-config\` shows what is in force.

Beside these, the server and its builds use the machine's own \`HTTPS_PROXY\`, \`HTTP_PROXY\` and \`NO_PROXY\`, and clients of the public packages read
\`E2B_API_URL\`, \`E2B_SANDBOX_URL\`, \`E2B_VOLUME_API_URL\`, \`E2B_API_KEY\` and \`E2B_DOMAIN\` (\`boxyard env\` prints all of them). Limits without a setting are in
[bounds.md](bounds.md).
`;

/** What has angle brackets is no markup. */
const coded = (word: string) => (word.includes("<") ? `\`${word}\`` : word);
const cell = (text: string) => text.replaceAll("|", "\\|").split(" ").map(coded).join(" ");

function table(title: string, settings: readonly Setting[]): string {
  const rows = settings.map(
    ({ name, form, default: value, meaning }) => `| \`${name}\` | ${cell(form)} | ${cell(value)} | ${cell(meaning)} |`,
  );
  return [`## ${title}`, "", "| variable | value | default | effect |", "|---|---|---|---|", ...rows, ""].join("\n");
}

const of = (...kinds: Setting["usedBy"][]) => SETTINGS.filter(({ usedBy }) => kinds.includes(usedBy));
const text = [HEAD, table("Server", of("server", "both")), table("Clients and the command line", of("client", "both"))].join("\n");
const path = new URL("../../../../docs/configuration.md", import.meta.url).pathname;
await Bun.write(path, text);
console.log(path);
