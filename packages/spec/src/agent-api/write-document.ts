/** Writes `src/generated/agent.openapi.json`. Run it after a change of the agent's shapes; a check compares the result with git. */
import { agentDocument } from "./document.ts";

const path = new URL("../generated/agent.openapi.json", import.meta.url).pathname;
await Bun.write(path, `${JSON.stringify(agentDocument(), null, 2)}\n`);
console.log(path);
