/* `bun main.ts FILE`: writes the installable package to FILE. The server of a checkout runs this when somebody asks it for the package. */
import { packPackage } from "./pack.ts";

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: main.ts FILE");
  process.exit(2);
}
await packPackage(file);
