/*
 * Runs scenarios against a published client: `node run.mjs PACKAGE SCENARIO [DIRECTORY]`, with nothing but the variables that `boxyard env` prints.
 * A scenario is a function of the client's module; it throws when the client sees something else than promised.
 *
 * `node run.mjs PACKAGE` runs many, one after another: each line of its input is "DIRECTORY SCENARIO". Loading the client takes longer than
 * most scenarios, so it is loaded once. A NUL on both outputs says that a scenario is done; one that fails ends the process.
 */
import { createInterface } from "node:readline";

const [packageName, only, directory = "scenarios"] = process.argv.slice(2);
const client = await import(packageName);

async function run(from, name) {
  const { default: scenario } = await import(`./${from}/${name}.mjs`);
  await scenario(client);
}

if (only) await run(directory, only);
else {
  for await (const line of createInterface({ input: process.stdin })) {
    await run(...line.split(" "));
    for (const output of [process.stdout, process.stderr]) output.write("\0");
  }
}
// Clients keep connections open for later calls; a scenario is done when its function is.
process.exit(0);
