/* `bun main.ts DIRECTORY`: writes the dashboard's files into the new directory. The server of a checkout runs this when a browser first asks for them. */
import { makeFiles } from "./make-files.ts";

const [target] = process.argv.slice(2);
if (target === undefined) {
  console.error("usage: main.ts DIRECTORY");
  process.exit(2);
}
await makeFiles(target);
