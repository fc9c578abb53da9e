/** Writes `docs/contract/access.md`: who may call which route, from what the routes declare beside themselves. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ACCESS, type Access, routes } from "@boxyard/spec/platform";
import { ROOT } from "../config.ts";

const HEAD = `<!-- Written by tools/generate/access.ts from packages/spec/src/platform; edit that. -->

# Access

A caller sends an API key in \`X-API-Key\`, an access token as \`Authorization: Bearer TOKEN\`, or the admin token in \`X-Admin-Token\`. Each key and
each access token belongs to one team, and has scopes:

| scope | a key with it may |
|---|---|
| \`read\` | look at everything of its team that is not a secret |
| \`sandboxes\` | make, use and end sandboxes, snapshots and volumes; it includes \`read\` |
| \`templates\` | build, tag, publish and remove templates, snapshots among them, and fetch their images; it includes \`read\` |
| \`admin\` | do all of these, and manage the keys, access tokens and secrets of the team |

Without a valid key the answer is 401. A key that lacks the scope of a route gets 403, \`error_code\` \`scope_missing\`, with the name of the scope, before
anything is looked up. With the scope \`read\` alone, \`GET /sandboxes/{sandboxID}\` leaves out \`envdAccessToken\`, which would let its holder use the sandbox.

\`X-Team-ID\` may name the team of the key, by id or slug. Another team is 400, whether it exists or not. The admin token, and access
tokens of the team \`default\` with the scope \`admin\`, may name any team, and act for it then; without the header they act for their own, \`default\`.

Routes of the owner \`server\` are about all teams. They are for the operator: for the admin token, and for keys and access tokens of the team
\`default\` with the scope \`admin\`.

A key that is revoked or expires is refused at once, and the calls that it has begun are cut. An access token takes the API keys with it that
\`GET /teams\` has made for its holder.

The documents (\`/openapi.json\`, \`/llms.txt\`, …) are for everyone. \`/mcp\` needs the scope \`sandboxes\`. The files of a volume (\`/volumecontent\`) are for the holder
of the volume's token, uploads of a build for the holder of a signed address, and agents and ports of sandboxes for the holders of their tokens.

## Routes

| route | scope | owner |
|---|---|---|
`;

const rows = Object.values(routes)
  .map(({ method, path, [ACCESS]: access }: { method: string; path: string; [ACCESS]: Access }) => {
    const line = access.scope === null ? "none, without a key | -" : `\`${access.scope}\` | ${access.owner}`;
    return { path, text: `| \`${method.toUpperCase()} ${path}\` | ${line} |` };
  })
  .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));

writeFileSync(join(ROOT, "docs/contract/access.md"), `${HEAD}${rows.map(({ text }) => text).join("\n")}\n`);
