import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { build, CONTEXT, inside, withName } from "./tools.mjs";

const CASES = JSON.parse(readFileSync(new URL("../../templates/cases.json", import.meta.url), "utf8"));
const AT_ONCE = 4;

function templateOf(client, { dockerfile, steps }) {
  const empty = client.Template({ fileContextPath: CONTEXT });
  if (dockerfile !== undefined) return empty.fromDockerfile(`FROM e2bdev/base\n${dockerfile}\n`);
  return steps.reduce((template, [method, ...args]) => {
    const name = method.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    return template[name](...args.map((arg) => arg.options ?? arg));
  }, empty.fromBaseImage());
}

async function tryCase(client, one) {
  await withName(async (name) => {
    await build(client, templateOf(client, one), name).catch((error) => assert.fail(`${one.what}: ${error.message}`));
    assert.equal(await inside(client, name, one.command), one.prints, one.what);
  });
}

/** What both clients build, several at a time. */
export default async function (client) {
  const left = [...CASES];
  const work = async () => {
    for (let one = left.shift(); one; one = left.shift()) await tryCase(client, one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
