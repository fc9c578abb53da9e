import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { usePlatform } from "../support/platform.ts";
import { SlowLink } from "../support/slow-link.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";
import { Terminal } from "./tmux.ts";

const platform = usePlatform();
const directory = mkdtempSync(join(tmpdir(), "boxyard-slow-"));
afterAll(() => rmSync(directory, { recursive: true }));

const MODEM = { bytesPerSecond: 16_000, delayMs: 100 };
const KIB = 1024;

test("exec and shell over 128 kbit/s and 200 ms there and back", async () => {
  await using link = await SlowLink.to(platform().apiUrl, MODEM);
  const env = { BOXYARD_API_URL: link.url };
  await using sandbox = await sandboxOf(platform());
  const ran = await boxyard(platform(), ["exec", "-i", sandbox.id, "--", "sh", "-c", "cat; echo err >&2; exit 7"], { env, stdin: "in\n" });
  expect(ran).toMatchObject({ exitCode: 7, stdout: "in\n", stderr: "err\n" });
  await using terminal = await Terminal.open({ ...platform().env, ...env }, { cols: 80, rows: 24 });
  await terminal.type(`${BOXYARD} shell ${sandbox.id}; echo "ended with $?"`);
  await terminal.shows(/user@i\w+:~\$$/m);
  await terminal.type("stty size; seq 1000; exit 5");
  await terminal.shows(/^1000\n/m);
  await terminal.shows(/^ended with 5$/m);
}, 60_000);

test("cp both ways over a slow link: progress begins at once and moves, and what arrives is whole", async () => {
  const speed = { bytesPerSecond: 400 * KIB, delayMs: 100 };
  await using link = await SlowLink.to(platform().apiUrl, speed);
  await using sandbox = await sandboxOf(platform());
  await using terminal = await Terminal.open({ ...platform().env, BOXYARD_API_URL: link.url }, { cols: 120, rows: 24 });
  const data = crypto.getRandomValues(new Uint8Array(64 * KIB));
  const large = Buffer.concat(Array.from({ length: 16 }, () => data));
  writeFileSync(join(directory, "large"), large);
  mkdirSync(join(directory, "many"));
  for (let i = 0; i < 20; i++) writeFileSync(join(directory, "many", `${i}`), data.subarray(0, 40 * KIB));
  let copies = 0;
  /** Copies, and gives what was seen of how far it was. */
  const shares = async (what: string): Promise<number[]> => {
    const end = `end of ${++copies}:`;
    await terminal.type(`clear; ${BOXYARD} cp ${what}; echo "${end} $?"`);
    const seen: number[] = [];
    let text: string | undefined;
    for (;;) {
      text = await terminal.shows(new RegExp(`^\\S+  .* of .*iB  |^${end}`, "m"), 15_000, text);
      if (new RegExp(`^${end}`, "m").test(text)) {
        expect(text).toContain(`${end} 0`);
        return seen;
      }
      const [, done, unit] = /^\S+ {2}(\S+) (B|KiB|MiB) of/m.exec(text) ?? [];
      const bytes = Number(done) * ({ B: 1, KiB: KIB, MiB: KIB * KIB }[unit ?? ""] ?? Number.NaN);
      if (bytes !== seen.at(-1)) seen.push(bytes);
    }
  };
  for (const what of [`${directory}/large ${sandbox.id}:`, `${directory}/many ${sandbox.id}:`, `${sandbox.id}:large ${directory}/back`]) {
    const seen = await shares(what);
    expect(seen[0]).toBe(0);
    expect(seen.length).toBeGreaterThanOrEqual(3);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  }
  expect(readFileSync(join(directory, "back")).equals(large)).toBe(true);
  const sums = await boxyard(platform(), ["exec", sandbox.id, "--", "sh", "-c", "cat many/* | wc -c"]);
  expect(sums.stdout.trim()).toBe(`${20 * 40 * KIB}`);
}, 120_000);
