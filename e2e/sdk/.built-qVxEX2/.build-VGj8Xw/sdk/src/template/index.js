/* `@boxyard/sdk/template`: making templates. For Node, Bun and Deno; it reads files. */
export { BuildError } from "./build.js";
export { placeOf } from "./call-site.js";
export { waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForUrl } from "./ready.js";
export { Template } from "./template.js";
