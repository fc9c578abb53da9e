/*
 * Runs one scenario against a published client: `node run.mjs PACKAGE SCENARIO [DIRECTORY]`, with nothing but the variables that `boxyard env` prints.
 * A scenario is a function of the client's module; it throws when the client sees something else than promised.
 */
const [packageName, name, directory = "scenarios"] = process.argv.slice(2);
const client = await import(packageName);
const { default: scenario } = await import(`./${directory}/${name}.mjs`);
await scenario(client);
// Clients keep connections open for later calls; a scenario is done when its function is.
process.exit(0);
