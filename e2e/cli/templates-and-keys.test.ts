import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { usePlatform } from "../support/platform.ts";
import { boxyard, sandboxOf } from "./support.ts";

const platform = usePlatform();
const directory = mkdtempSync(join(tmpdir(), "boxyard-e2e-cli-template-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("template: build with its steps shown, use, list, info, tag, delete", async () => {
  const nonce = crypto.randomUUID();
  writeFileSync(
    join(directory, "Dockerfile"),
    `FROM boxyard/base\nARG WHO\nRUN echo "hello $WHO ${nonce}" > /etc/greeting\nCOPY a.txt /\n`,
  );
  writeFileSync(join(directory, "a.txt"), `a ${nonce}\n`);
  const built = await boxyard(platform(), ["template", "build", "cli-e2e", directory, "--build-arg", "WHO=me"]);
  expect([built.exitCode, built.stdout]).toEqual([0, expect.stringMatching(/^[a-z0-9]{20}\n$/)]);
  expect(built.stderr).toContain("uploaded a.txt");
  expect(built.stderr).toMatch(/\[3\/6\] RUN echo "hello [^\n]*\n {2}\d\.\d s\n/);
  expect(built.stderr).toMatch(/built cli-e2e in \d+\.\d s/);
  const ran = await boxyard(platform(), ["run", "-t", "cli-e2e", "--", "cat", "/etc/greeting", "/a.txt"]);
  expect([ran.exitCode, ran.stdout]).toEqual([0, `hello me ${nonce}\na ${nonce}\n`]);
  const again = await boxyard(platform(), ["template", "build", "cli-e2e", directory, "--build-arg", "WHO=me"]);
  expect(again.stderr).toMatch(/RUN echo "hello .*CACHED/);
  expect((await boxyard(platform(), ["template", "list"])).stdout).toMatch(/^default\/cli-e2e +[a-z0-9]{20} +ready /m);
  expect((await boxyard(platform(), ["template", "tag", "cli-e2e", "stable"])).exitCode).toBe(0);
  const { tags } = JSON.parse((await boxyard(platform(), ["template", "info", "cli-e2e", "--json"])).stdout);
  expect(tags.map(({ tag }: { tag: string }) => tag).sort()).toEqual(["default", "stable"]);
  expect((await boxyard(platform(), ["run", "-t", "cli-e2e:stable", "--", "true"])).exitCode).toBe(0);
  // What `info` shows for people can be pasted: a tag's build, by its whole id.
  const shown = (await boxyard(platform(), ["template", "info", "cli-e2e"])).stdout;
  const [, buildId = ""] = /^(?:tags)? +stable \((\S+)\)$/m.exec(shown) ?? [];
  expect((await boxyard(platform(), ["template", "tag", `cli-e2e:${buildId}`, "pinned"])).stderr).toBe("set pinned\n");
  expect((await boxyard(platform(), ["run", "-t", `cli-e2e:${buildId}`, "--", "cat", "/a.txt"])).stdout).toBe(`a ${nonce}\n`);
  expect((await boxyard(platform(), ["template", "delete", "cli-e2e"])).stdout).toBe("cli-e2e\n");
}, 90_000);

test("template: a failed step is named, and what it said is shown", async () => {
  writeFileSync(join(directory, "bad.Dockerfile"), "FROM boxyard/base\nRUN echo because; exit 3\n");
  const failed = await boxyard(platform(), ["template", "build", "cli-e2e-bad", directory, "-f", join(directory, "bad.Dockerfile")]);
  expect([failed.exitCode, failed.stdout]).toEqual([1, ""]);
  expect(failed.stderr).toContain("  because\n");
  expect(failed.stderr).toMatch(/error: step 3: .*3\n/);
  await boxyard(platform(), ["template", "delete", "cli-e2e-bad"]);
}, 60_000);

test("sandbox logs: what happened, followed to the end, and afterwards", async () => {
  await using sandbox = await sandboxOf(platform());
  const followed = boxyard(platform(), ["sandbox", "logs", "-f", sandbox.id]);
  // Time alone: nothing tells that the command has read the log once and follows it.
  await Bun.sleep(700);
  await boxyard(platform(), ["sandbox", "kill", sandbox.id]);
  const expected = /^\S+ INFO {2}Sandbox started from template base\n\S+ INFO {2}Sandbox ended: it was killed on request\n$/;
  expect((await followed).stdout).toMatch(expected);
  expect((await boxyard(platform(), ["sandbox", "logs", sandbox.id])).stdout).toMatch(expected);
  const nothing = await boxyard(platform(), ["sandbox", "logs", "i00000000000000000000"]);
  expect([nothing.exitCode, nothing.stderr]).toEqual([1, expect.stringContaining("`boxyard sandbox list`")]);
}, 60_000);

test("key: create prints it alone, it works, and revoke ends that", async () => {
  const created = JSON.parse((await boxyard(platform(), ["key", "create", "cli", "--json"])).stdout);
  const asThem = { env: { BOXYARD_API_KEY: created.key } };
  expect((await boxyard(platform(), ["key", "list"], asThem)).stdout).toContain(`${created.id}  cli`);
  expect((await boxyard(platform(), ["key", "revoke", created.id])).stdout).toBe(`${created.id}\n`);
  const refused = await boxyard(platform(), ["key", "list"], asThem);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("Invalid API key")]);
}, 60_000);

test("key: a scope and an expiry are shown, and kept", async () => {
  const created = await boxyard(platform(), ["key", "create", "viewer", "--scope", "read", "--expires", "1h", "--json"]);
  const { id, key } = JSON.parse(created.stdout);
  const asThem = { env: { BOXYARD_API_KEY: key } };
  expect((await boxyard(platform(), ["key", "list"])).stdout).toMatch(new RegExp(`^${id} +viewer +e2b_\\S+ +read +.* ago +in `, "m"));
  expect((await boxyard(platform(), ["sandbox", "list"], asThem)).exitCode).toBe(0);
  const refused = await boxyard(platform(), ["sandbox", "create"], asThem);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("lacks the scope 'sandboxes'")]);
  expect((await boxyard(platform(), ["key", "create", "x", "--scope", "all"])).stderr).toContain("'all' is no scope");
  await boxyard(platform(), ["key", "revoke", id]);
}, 30_000);

test("secret: the value comes from standard input, and nothing shows it; update, list, info, delete", async () => {
  const value = `value ${crypto.randomUUID()}\nof two lines`;
  const withValue = (stdin: string) => ({ stdin });
  const created = await boxyard(platform(), ["secret", "create", "Cli-Secret", "--metadata", "for=tests"], withValue(`${value}\n`));
  expect([created.exitCode, created.stdout]).toEqual([0, expect.stringMatching(/^sec_[a-z0-9]{20}\n$/)]);
  expect((await boxyard(platform(), ["secret", "update", "cli-secret"], withValue("another"))).stdout).toBe("2\n");
  const listed = (await boxyard(platform(), ["secret", "list"])).stdout;
  expect(listed).toMatch(new RegExp(`^cli-secret +${created.stdout.trim()} +2 `, "m"));
  const info = (await boxyard(platform(), ["secret", "info", "cli-secret"])).stdout;
  expect(JSON.parse(info)).toMatchObject({ name: "cli-secret", version: 2, metadata: { for: "tests" } });
  expect(listed + info + created.stderr).not.toContain(value);
  const taken = await boxyard(platform(), ["secret", "create", "cli-secret"], withValue(value));
  expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining("there is a secret 'cli-secret' already")]);
  expect((await boxyard(platform(), ["secret", "create", "empty"], withValue("\n"))).stderr).toContain("the value is empty");
  expect((await boxyard(platform(), ["secret", "delete", "cli-secret"])).stdout).toBe("cli-secret\n");
  expect((await boxyard(platform(), ["secret", "delete", "cli-secret"])).exitCode).toBe(1);
}, 60_000);

test("webhook: create prints the secret alone; list, disable, deliveries, resend, delete", async () => {
  const created = await boxyard(platform(), ["webhook", "create", "cli", "https://hooks.example/x", "--events", "build.error,team"]);
  expect([created.exitCode, created.stdout]).toEqual([0, expect.stringMatching(/^whsec_\S+\n$/)]);
  const [, id = ""] = /^webhook (\S+); its secret/.exec(created.stderr) ?? [];
  expect((await boxyard(platform(), ["webhook", "list"])).stdout).toMatch(
    new RegExp(`^${id} +cli +on +0 +0 +build.error,team +https://hooks`, "m"),
  );
  expect((await boxyard(platform(), ["webhook", "disable", id])).stdout).toBe(`${id}\n`);
  expect(JSON.parse((await boxyard(platform(), ["webhook", "list", "--json"])).stdout)).toMatchObject([{ id, enabled: false }]);
  expect((await boxyard(platform(), ["webhook", "deliveries", id])).stderr).toBe("no deliveries\n");
  expect((await boxyard(platform(), ["webhook", "resend", id])).stdout).toBe("0\n");
  const refused = await boxyard(platform(), ["webhook", "create", "inner", "https://127.0.0.1/x"]);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("BOXYARD_WEBHOOK_HOSTS")]);
  expect((await boxyard(platform(), ["webhook", "delete", id])).stdout).toBe(`${id}\n`);
  expect((await boxyard(platform(), ["webhook", "delete", id])).exitCode).toBe(1);
}, 60_000);

test("team: two teams on one machine see nothing of each other; a limit holds for one of them; a team with a sandbox stays", async () => {
  const created = await boxyard(platform(), ["team", "create", "cli-team"]);
  const asThem = { env: { BOXYARD_API_KEY: created.stdout.trim() } };
  const theirs = (await boxyard(platform(), ["sandbox", "create"], asThem)).stdout.trim();
  expect((await boxyard(platform(), ["exec", theirs, "--", "echo", "theirs"], asThem)).stdout).toBe("theirs\n");
  const foreign = await boxyard(platform(), ["exec", theirs, "--", "true"]);
  expect([foreign.exitCode === 0, (await boxyard(platform(), ["sandbox", "list"])).stdout.includes(theirs)]).toEqual([false, false]);
  const limited = await boxyard(platform(), ["team", "limit", "cli-team", "sandboxes=1"]);
  expect(limited.stdout).toMatch(/^sandboxes +1$/m);
  const refused = await boxyard(platform(), ["sandbox", "create"], asThem);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("limit sandboxes (1)")]);
  expect((await boxyard(platform(), ["team", "list"])).stdout).toMatch(/^cli-team +cli-team +\S+ +/m);
  expect((await boxyard(platform(), ["team", "list"], asThem)).stderr).toContain("lacks the scope 'admin' of the team 'default'");
  expect((await boxyard(platform(), ["team", "delete", "cli-team"])).stderr).toContain("1 sandboxes");
  await boxyard(platform(), ["sandbox", "kill", theirs], asThem);
  expect((await boxyard(platform(), ["team", "delete", "cli-team"])).stdout).toBe("cli-team\n");
  expect((await boxyard(platform(), ["sandbox", "list"], asThem)).stderr).toContain("Invalid API key");
}, 60_000);
