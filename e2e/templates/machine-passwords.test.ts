import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { Template } from "@boxyard/sdk/template";
import { holders } from "../support/holders.ts";
import { usePlatform } from "../support/platform.ts";

const unique = () => crypto.randomUUID().replaceAll("-", "");
/** Passwords of this machine's settings. */
const PLANTED = { proxy: `proxy${unique()}`, pip: `pip${unique()}` };
const PROXY = `http://me:${PLANTED.proxy}@proxy.example:3128`;
const platform = usePlatform({
  env: { HTTPS_PROXY: PROXY, PIP_INDEX_URL: `https://me:${PLANTED.pip}@mirror.example/simple`, BOXYARD_BUILD_SETTINGS: "machine" },
});
const NAME = `machine-passwords-${unique().slice(0, 8)}`;
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-passwords-"));
  writeFileSync(join(directory, "begun"), "");
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const sha = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");
// With the unique name in ENV: else the cache of an earlier run in the same data directory answers with that run's passwords.
const DOCKERFILE = `FROM boxyard/base
ENV BUILT_FOR=${NAME}
RUN env > /environment; cat /proc/*/environ > /all-environments 2>/dev/null; true
USER user
RUN sed -n 's/^index-url=//p' "$PIP_CONFIG_FILE" | tr -d '\\n' | sha256sum | cut -c 1-64 > ~/index
RUN --mount=type=secret,id=HTTPS_PROXY,env=HTTPS_PROXY echo "through $HTTPS_PROXY"; printf %s "$HTTPS_PROXY" | sha256sum | cut -c 1-64 > ~/proxy
RUN cat /run/boxyard-build/pip.conf
`;

test("passwords of the machine's proxy and index are in no environment, layer, log or store, and serve those who need them", async () => {
  const options = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const log: string[] = [];
  await Template.fromDockerfile(DOCKERFILE, { context: directory }).build(NAME, {
    ...options,
    onLog: ({ message }) => void log.push(message),
  });
  await using sandbox = await Sandbox.create(NAME, options);
  const { stdout } = await sandbox.commands.run("cat /environment; cat ~/index ~/proxy; ls /run/boxyard-build 2>&1 || true", {
    user: "user",
  });
  expect(stdout).toContain("HTTPS_PROXY=http://proxy.example:3128\n");
  expect(stdout).toContain(`${sha(`https://me:${PLANTED.pip}@mirror.example/simple`)}\n${sha(PROXY)}\n`);
  expect(stdout).toContain("cannot access '/run/boxyard-build'");
  expect(log.join("\n")).toContain("through http://me:***@proxy.example:3128");
  expect(log.join("\n")).toContain("index-url=https://me:***@mirror.example/simple");
  const planted = Object.values(PLANTED);
  for (const password of planted) expect(log.join("\n")).not.toContain(password);
  expect(await holders(platform().dataDir, planted, join(directory, "begun"))).toEqual([]);
  expect((await holders(platform().dataDir, [sha(PROXY)], join(directory, "begun"))).length).toBeGreaterThan(0);
}, 120_000);
