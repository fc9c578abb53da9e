/** Writes `src/generated/platform.openapi.json`. Run it after a change of the platform's shapes; a check compares the result with git. */
import { platformDocument } from "./document.ts";

const path = new URL("../generated/platform.openapi.json", import.meta.url).pathname;
await Bun.write(path, `${JSON.stringify(platformDocument(), null, 2)}\n`);
console.log(path);
