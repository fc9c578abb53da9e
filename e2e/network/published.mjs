// The cases of the file that is named, with the published client: a JSON list of what was not as it should be.
import { readFileSync } from "node:fs";
import { Sandbox } from "e2b";

const { cases, updates } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrong = [];

async function look(sandbox, name, prints) {
  for (const [command, wanted] of prints) {
    const { stdout } = await sandbox.commands.run(command, { user: "root", timeoutMs: 40_000 });
    if (stdout !== wanted) wrong.push(`${name}: ${command}: '${stdout}', not '${wanted}'`);
  }
}

/** The lists as the client's functions give them. */
const asFunctions = ({ allowOut, denyOut, ...rest }) => ({
  ...rest,
  ...(allowOut && { allowOut: ({ rules }) => [...new Set([...rules.keys(), ...allowOut])] }),
  ...(denyOut && { denyOut: ({ allTraffic }) => denyOut.map((entry) => (entry === "0.0.0.0/0" ? allTraffic : entry)) }),
});

async function one({ name, network, prints, pauses }) {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, network: asFunctions(network) });
  try {
    await look(sandbox, name, prints);
    if (!pauses) return;
    await sandbox.pause();
    await look(await Sandbox.connect(sandbox.sandboxId), `${name}, resumed`, prints);
  } finally {
    await sandbox.kill();
  }
}

async function updated() {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000 });
  try {
    for (const { name, network, prints } of updates) {
      await sandbox.updateNetwork(asFunctions(network));
      await look(sandbox, name, prints);
    }
  } finally {
    await sandbox.kill();
  }
}

const queue = [...cases];
const worker = async () => {
  for (let next = queue.shift(); next; next = queue.shift()) await one(next);
};
await Promise.all([worker(), worker(), updated()]);
console.log(JSON.stringify(wrong));
