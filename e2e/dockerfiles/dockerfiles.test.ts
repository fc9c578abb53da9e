import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { BuildError, Template } from "@boxyard/sdk/template";
import { runProgram } from "@boxyard/testkit";
import { startRegistry, type TestRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { usePlatform } from "../support/platform.ts";
import { pushTinyImage } from "../support/tiny-image.ts";

/** What a file inside must be. Only the members that are given are compared. */
interface FileFacts {
  readonly text?: string;
  readonly mode?: string;
  readonly owner?: string;
  /** Of a symbolic link; null: it is none. */
  readonly target?: string | null;
}

interface Expected {
  /** Shell commands that make the rest of the context. */
  readonly make?: string;
  readonly args?: Readonly<Record<string, string>>;
  readonly target?: string;
  /** Ready command. */
  readonly ready?: string;
  /** By path; null: there must be no such file. */
  readonly files?: Readonly<Record<string, FileFacts | null>>;
  /** Commands of the sandbox's user, and what they print. */
  readonly shows?: readonly [string, string][];
  /** Of the sandbox; null: not set. */
  readonly env?: Readonly<Record<string, string | null>>;
  readonly user?: string;
  readonly cwd?: string;
  /** Instructions told to have no effect. */
  readonly notes?: readonly string[];
  readonly error?: { readonly message: string; readonly step?: string; readonly line?: number };
  readonly logged?: readonly string[];
  readonly notLogged?: string;
}

const CASES = join(import.meta.dir, "cases");
const NAMES = readdirSync(CASES).sort();
const platform = usePlatform({ env: { BOXYARD_MAX_BUILDS: "4" } });
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const work = mkdtempSync(join(tmpdir(), "boxyard-dockerfiles-"));
let registry: TestRegistry;
/** What ADD fetches; anything else is 404. */
const files = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: ({ url }) => (new URL(url).pathname.endsWith("/hello.txt") ? new Response("hello\n") : new Response("none", { status: 404 })),
});

beforeAll(async () => {
  registry = await startRegistry();
  await pushTinyImage("tiny", {}, { host: registry.host });
  const OnBuild = ["ENV WHO=trigger", 'RUN echo "made by $WHO" > /made', "COPY local /copied"];
  await pushTinyImage("triggers", { OnBuild }, { host: registry.host });
  await pushTinyImage("bare", {}, { host: registry.host, addFiles: leaveAProgram });
}, 60_000);
afterAll(async () => {
  await files.stop(true);
  await registry?.[Symbol.asyncDispose]();
  rmSync(work, { recursive: true, force: true });
});

/** No shell, no tar: one program, as many images have. */
function leaveAProgram(tree: string): void {
  renameSync(join(tree, "bin/busybox"), join(tree, "program"));
  for (const directory of ["bin", "etc", "root", "tmp"]) rmSync(join(tree, directory), { recursive: true });
  mkdirSync(join(tree, "opt"));
  writeFileSync(join(tree, "opt/inside"), "inside\n");
  symlinkSync("inside", join(tree, "opt/link"));
}

interface Built {
  readonly name: string;
  readonly directory: string;
  readonly log: string[];
  readonly notes: string[];
  readonly error: unknown;
}

async function contextOf(name: string, { make }: Expected): Promise<string> {
  const directory = join(work, name);
  cpSync(join(CASES, name), directory, { recursive: true, verbatimSymlinks: true });
  if (make !== undefined) {
    const made = await runProgram(["/bin/sh", "-ec", make], { cwd: directory });
    expect([made.exitCode, made.stderr]).toEqual([0, ""]);
  }
  return directory;
}

async function build(name: string, directory: string, expected: Expected): Promise<Built> {
  const log: string[] = [];
  const notes: string[] = [];
  const file = join(directory, "Dockerfile");
  const attempt = async () => {
    const { target, args } = expected;
    const onNote = (note: string) => void notes.push(note);
    let template = Template.fromDockerfile(readFileSync(file, "utf8"), {
      context: directory,
      file,
      target,
      args: { ...args, REGISTRY: registry.host, FILES: files.url.host },
      onNote,
    });
    if (expected.ready !== undefined) template = template.setReadyCmd(expected.ready);
    await template.build(`dockerfile-${name}`, { ...options(), onLog: ({ message }) => void log.push(message) });
  };
  const error = await attempt().then(
    () => undefined,
    (cause: unknown) => cause,
  );
  return { name, directory, log, notes, error };
}

/** Prints what a list of paths is, as JSON. */
const LOOK = `
import grp, json, os, pwd, stat, sys
def name(find, number):
    try: return find(number)[0]
    except KeyError: return str(number)
def look(path):
    try: s = os.lstat(path)
    except FileNotFoundError: return None
    link = stat.S_ISLNK(s.st_mode)
    text = open(path, errors="replace").read(100000) if stat.S_ISREG(s.st_mode) else None
    owner = name(pwd.getpwuid, s.st_uid) + ":" + name(grp.getgrgid, s.st_gid)
    return {"text": text, "mode": "%o" % stat.S_IMODE(s.st_mode), "owner": owner, "target": os.readlink(path) if link else None}
print(json.dumps({path: look(path) for path in json.load(open("/tmp/paths"))}))
`;

async function check(built: Built, expected: Expected): Promise<void> {
  await using sandbox = await Sandbox.create(`dockerfile-${built.name}`, options());
  const run = async (command: string, user?: string) => (await sandbox.commands.run(command, user === undefined ? {} : { user })).stdout;
  const { files = {}, env = {} } = expected;
  await sandbox.files.write("/tmp/paths", JSON.stringify(Object.keys(files)), { user: "root" });
  await sandbox.files.write("/tmp/look.py", LOOK, { user: "root" });
  const found = JSON.parse(await run("python3 /tmp/look.py", "root")) as Record<string, Record<string, unknown> | null>;
  const named = Object.entries(files).map(([path, facts]) => {
    const seen = found[path];
    return [path, facts && seen ? Object.fromEntries(Object.keys(facts).map((key) => [key, seen[key]])) : (seen ?? null)];
  });
  const variables = Object.fromEntries(
    (await run("env -0"))
      .split("\0")
      .filter((pair) => pair.includes("="))
      .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
  const shown: [string, string][] = [];
  for (const [command] of expected.shows ?? []) shown.push([command, await run(command)]);
  const [user, cwd] = (await run("id -un; pwd")).trimEnd().split("\n");
  expect({
    files: Object.fromEntries(named),
    env: Object.fromEntries(Object.keys(env).map((key) => [key, variables[key] ?? null])),
    shows: shown,
    user,
    cwd,
  }).toEqual({ files, env, shows: expected.shows ?? [], user: expected.user ?? user, cwd: expected.cwd ?? cwd } as never);
}

function checkFailure({ error, directory }: Built, { message, step, line }: NonNullable<Expected["error"]>): void {
  expect((error as Error | undefined)?.message).toContain(message);
  if (step === undefined) return;
  expect(error).toBeInstanceOf(BuildError);
  const failure = error as BuildError;
  const file = join(directory, "Dockerfile");
  expect([failure.step, failure.at]).toEqual([step, { file, line: line ?? 0 }]);
  expect(failure.stack).toEndWith(`\n    at ${file}:${line}`);
}

async function tryCase(name: string): Promise<void> {
  const expected = JSON.parse(readFileSync(join(CASES, name, "expected.json"), "utf8")) as Expected;
  const directory = await contextOf(name, expected);
  try {
    const built = await build(name, directory, expected);
    if (expected.error) checkFailure(built, expected.error);
    else if (built.error !== undefined) throw built.error;
    else await check(built, expected);
    expect(built.notes.map((note) => /: (\w+) has no effect/.exec(note)?.[1])).toEqual([...(expected.notes ?? [])]);
    for (const text of expected.logged ?? []) expect(built.log.join("\n")).toContain(text);
    if (expected.notLogged !== undefined) expect(built.log.join("\n")).not.toContain(expected.notLogged);
  } finally {
    await Template.delete(`dockerfile-${name}`, options());
  }
}

test("there are cases, each with what is expected of it", () => {
  expect(NAMES.length).toBeGreaterThanOrEqual(20);
  for (const name of NAMES) expect(existsSync(join(CASES, name, "expected.json"))).toBe(true);
});

// Several at a time: most of a build is waiting.
test.concurrent.each(NAMES)("%s", tryCase, 120_000);

const SCRATCH = `FROM boxyard/base AS build
RUN mkdir /out && cp --parents $(ldd /usr/bin/env | grep -o '/[^ ]*') /usr/bin/env /out
RUN mkdir -p /out/etc && echo app:x:1234:1234::/data: > /out/etc/passwd
FROM scratch
COPY --from=build /out /
COPY --chown=app busybox /tools/
COPY <<EOF /www/hello.txt
hello
EOF
ENV GREETING=hi PATH=/tools:$PATH
USER app
WORKDIR /data
HEALTHCHECK CMD ["busybox", "wget", "-q", "-O", "-", "http://127.0.0.1:8000/hello.txt"]
CMD ["busybox", "httpd", "-f", "-p", "8000", "-h", "/www"]
`;

test("FROM scratch: what was copied is all there is; commands that need no shell run, its start command too", async () => {
  const directory = join(work, "from-scratch");
  mkdirSync(directory);
  cpSync("/bin/busybox", join(directory, "busybox"));
  writeFileSync(join(directory, "Dockerfile"), SCRATCH);
  const { error, log } = await build("from-scratch", directory, {});
  if (error !== undefined) throw error;
  expect(log.join("\n")).toContain("Collecting the image's files");
  try {
    await using sandbox = await Sandbox.create("dockerfile-from-scratch", options());
    const run = async (command: string) => (await sandbox.commands.run(command)).stdout.trim();
    const ours = ["dev", "proc", "run", "sys", ".boxyard", ".e2b", "tmp"];
    const listed = (await run("busybox ls -A /")).split("\n").filter((name) => !ours.includes(name));
    expect(listed).toEqual(expect.arrayContaining(["data", "etc", "tools", "usr", "www"]));
    expect(["bin", "home", "root", "var", "code"].filter((name) => listed.includes(name))).toEqual([]);
    expect(await run("busybox sh -c 'id -u; pwd; stat -c %u:%g /data /tools/busybox /www'")).toBe("1234\n/data\n1234:1234\n1234:1234\n0:0");
    expect(await run("/usr/bin/env")).toContain("GREETING=hi");
    expect(await (await sandbox.fetch(8000, "/hello.txt")).text()).toBe("hello\n");
    const refused = await sandbox.commands.run("busybox true && busybox true").catch((cause: unknown) => cause);
    expect(String((refused as { stderr?: string }).stderr)).toContain("/bin/bash");
  } finally {
    await Template.delete("dockerfile-from-scratch", options());
  }
}, 120_000);

test("a second build comes from the cache; a file that changed breaks it from its step on, and where that is copied", async () => {
  const directory = join(work, "cache");
  cpSync(join(CASES, "stages"), directory, { recursive: true });
  // Nothing of an earlier run is in the cache.
  const file = join(directory, "Dockerfile");
  writeFileSync(file, readFileSync(file, "utf8").replace("FROM_COMMON=yes", `FROM_COMMON=${crypto.randomUUID()}`));
  const done = async () => {
    const { log, error } = await build("cache", directory, { args: { MARK: "m", BASE: "base" } });
    if (error !== undefined) throw error;
    const steps = log.filter((line) => /^(CACHED )?\[(builder|build|tested) \d/.test(line));
    expect(steps.length).toBe(7 + 8 + 9);
    return steps.flatMap((line) => /^\[(\w+ \d+)\//.exec(line)?.[1] ?? []);
  };
  try {
    // What the second stage inherits from the first, and the last from both, is built once.
    const all = ["build 1", "build 2", "build 3", "build 4", "build 5", "build 6", "build 7", "tested 8"];
    expect(await done()).toEqual([...all.slice(2), ...["builder 5", "builder 6", "builder 7", "builder 8", "builder 9"]]);
    expect(await done()).toEqual([]);
    writeFileSync(join(directory, "source"), "hello again\n");
    expect(await done()).toEqual(["build 6", "build 7", "tested 8", "builder 5", "builder 6", "builder 7", "builder 8", "builder 9"]);
  } finally {
    await Template.delete("dockerfile-cache", options());
  }
}, 60_000);

test("a cache of RUN is there again in the next build of the template, and in no other's", async () => {
  const text = "FROM boxyard/base\nRUN --mount=type=cache,target=/c echo x >> /c/times && wc -l < /c/times > /times";
  const times = async (name: string) => {
    await Template.fromDockerfile(text).build(name, { ...options(), skipCache: true });
    await using sandbox = await Sandbox.create(name, options());
    return (await sandbox.files.read("/times")).trim();
  };
  const [one, two] = ["dockerfile-cache-one", "dockerfile-cache-two"];
  try {
    expect([await times(one), await times(one), await times(two), await times(one)]).toEqual(["1", "2", "1", "3"]);
    await Template.delete(one, options());
    expect(await times(one)).toBe("1");
  } finally {
    for (const name of [one, two]) await Template.delete(name, options());
  }
}, 120_000);
