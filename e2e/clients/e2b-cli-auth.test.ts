import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProgramResult, runProgram } from "@boxyard/testkit";
import { Terminal } from "../cli/tmux.ts";
import { usePlatform } from "../support/platform.ts";
import { olderNpmClients } from "../support/published.ts";

/*
 * `auth` of the published CLI 2.19.0. Its login needs a site with accounts, which this server is not: the test is the site, and a program named `xdg-open`
 * the browser. What the site gives is an access token of this server, and everything after that is between the client and this server.
 */

const platform = usePlatform();
const home = mkdtempSync(join(tmpdir(), "boxyard-cli-auth-"));
const config = join(home, ".e2b/config.json");
const revoked: string[] = [];
let program = "";
let token = "";
let site: Bun.Server<undefined>;

beforeAll(async () => {
  program = join(await olderNpmClients(), "node_modules/@e2b/cli/dist/index.js");
  const made = await platform().api({ method: "POST", path: "/access-tokens", body: { name: "published-cli" } });
  token = (made.body as { token: string }).token;
  site = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  mkdirSync(join(home, "bin"));
  const browser = join(home, "bin/xdg-open");
  writeFileSync(browser, `#!/bin/sh\nexec node -e 'fetch(process.argv[1])' "$1"\n`);
  chmodSync(browser, 0o755);
}, 240_000);
afterAll(async () => {
  await site?.stop(true);
  rmSync(home, { recursive: true, force: true });
});

/** The site: its page sends the browser back to the client, and its tokens never change. */
async function answer(request: Request): Promise<Response> {
  const { pathname, searchParams, origin } = new URL(request.url);
  if (pathname === "/oauth/token") return Response.json({ access_token: token });
  if (pathname === "/oauth/revoke") {
    revoked.push(new URLSearchParams(await request.text()).get("token") ?? "");
    return new Response();
  }
  const next = searchParams.get("next");
  if (next === null) return new Response("You are logged in");
  const given = { email: "me@example.org", accessToken: token, refreshToken: "again", clientId: "boxyard" };
  const endpoints = { tokenEndpoint: `${origin}/oauth/token`, revokeEndpoint: `${origin}/oauth/revoke` };
  return Response.redirect(`${next}/?${new URLSearchParams({ ...given, ...endpoints })}`);
}

/** No key: the client has what its login gave it. */
function environment(): Record<string, string> {
  const { E2B_API_KEY: _, ...env } = platform().env;
  const PATH = `${join(home, "bin")}:${process.env.PATH}`;
  return { ...env, HOME: home, PATH, NO_UPDATE_NOTIFIER: "1", E2B_DOCS_BASE: `http://127.0.0.1:${site.port}/docs` };
}

async function cli(args: string, more: Record<string, string> = {}): Promise<ProgramResult> {
  return runProgram(["env", "-u", "E2B_API_KEY", "node", program, ...args.split(" ")], {
    env: { ...environment(), ...more },
    limitMs: 40_000,
  });
}

const said = async (args: string, more?: Record<string, string>): Promise<[number, string]> => {
  const { exitCode, stdout, stderr } = await cli(args, more);
  return [exitCode as number, stdout + stderr];
};

test("without a login, `info` and `logout` say so, and an access token in the environment alone is no login for this client", async () => {
  const withToken = { E2B_ACCESS_TOKEN: token };
  expect(await said("auth info", withToken)).toEqual([0, "Not logged in\n"]);
  expect(await said("auth logout", withToken)).toEqual([0, expect.stringContaining("Not logged in")]);
  expect(await said("auth configure", withToken)).toEqual([0, expect.stringContaining("run `e2b auth login`")]);
  expect((await said("template list", withToken))[0]).toBe(1);
}, 120_000);

test("`login` takes the team of the access token, and commands then work; `configure` offers the team; `logout` forgets both", async () => {
  const [{ teamID, name, apiKey }] = (await (
    await fetch(`${platform().apiUrl}/teams`, { headers: { Authorization: `Bearer ${token}` } })
  ).json()) as [{ teamID: string; name: string; apiKey: string }];
  expect(await said("auth login")).toEqual([0, expect.stringContaining(`Logged in as me@example.org with selected project ${name}`)]);
  expect(JSON.parse(readFileSync(config, "utf8"))).toMatchObject({ projectId: teamID, tokens: { access_token: token } });
  expect(apiKey).toMatch(/^e2b_/);

  expect(await said("auth info")).toEqual([0, expect.stringContaining(`Selected project: ${name} (${teamID})`)]);
  expect(await said("template list")).toEqual([0, expect.stringContaining("base")]);
  expect((await said("sandbox list"))[0]).toBe(0);

  {
    await using terminal = await Terminal.open(environment(), { cols: 120, rows: 30 });
    await terminal.type(`node ${program} auth configure; echo ended=$?`);
    await terminal.shows(new RegExp(`\\?[^]*${name}`), 60_000);
    await terminal.key("Enter");
    await terminal.shows(/ended=0/, 60_000);
  }
  expect(JSON.parse(readFileSync(config, "utf8"))).toMatchObject({ projectId: teamID });

  expect(await said("auth logout")).toEqual([0, expect.stringContaining("Logged out")]);
  expect([revoked, existsSync(config)]).toEqual([["again"], false]);
  expect(await said("auth info")).toEqual([0, "Not logged in\n"]);
}, 240_000);
