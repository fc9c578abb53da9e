import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, runProgram } from "@boxyard/testkit";
import { type HelpExample, helpExamples } from "../../packages/cli/src/testing/help-examples.ts";
import { startRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { ensureCodeInterpreter } from "../support/code-interpreter.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { pushTinyImage } from "../support/tiny-image.ts";
import { kept, removeMade } from "./made-by-examples.ts";
import { BOXYARD } from "./support.ts";
import { Terminal } from "./tmux.ts";

/** Every example of the help texts is typed into a shell as it stands; SANDBOX and PID are a sandbox and a command of it. */
const platform = usePlatform();
const directory = mkdtempSync(join(tmpdir(), "boxyard-help-"));
const registry = await startRegistry();
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** What the platform kept before the first example. */
let before: Awaited<ReturnType<typeof kept>> = {};

const DOCKERFILE = "FROM boxyard/base\nARG VERSION=1\nRUN echo $VERSION\n";
/** What the examples find where they are typed. */
const FILES: Readonly<Record<string, string>> = {
  "file.txt": "three words here\n",
  "main.py": "print(1)\n",
  password: "secret",
  Dockerfile: DOCKERFILE,
  "project/Dockerfile": DOCKERFILE,
  "project/out.csv": "1,2\n",
};
beforeAll(async () => {
  mkdirSync(join(directory, "project"));
  mkdirSync(join(directory, "bin"));
  mkdirSync(join(directory, ".config/fish/completions"), { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text);
  symlinkSync(BOXYARD, join(directory, "bin/boxyard"));
  expect((await runProgram(["tar", "cf", "directory.tar", "project"], { cwd: directory })).exitCode).toBe(0);
  await pushTinyImage("tiny", {}, { host: registry.host });
  writeFileSync(join(directory, "tiny.Dockerfile"), `FROM ${registry.host}/tiny\n`);
  await ensureCodeInterpreter(platform());
  // An earlier run that was cut off left what it had made: the names are taken, and other files of this platform count.
  await removeMade(platform());
  before = await kept(platform());
}, 600_000);

/** Examples that change the server or the machine itself, and the test that runs such a line. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  up: "e2e/front-door/run.test.ts",
  down: "e2e/front-door/run.test.ts",
  setup: "e2e/front-door/machine.test.ts",
  uninstall: "e2e/front-door/walk.test.ts",
  "sudo BOXYARD_LISTEN=0.0.0.0:3000 boxyard service install": "e2e/cli/service.test.ts",
  "boxyard template rebuild code-interpreter": "e2e/clients/code-interpreter-build.test.ts",
  // They would send to an address that is not of this machine.
  "boxyard webhook create ci https://hooks.example/events --events build,sandbox.lifecycle.killed": "e2e/cli/templates-and-keys.test.ts",
  "boxyard webhook create mine https://hooks.example/mine --secret-stdin < password": "e2e/cli/templates-and-keys.test.ts",
  "boxyard down && boxyard key rotate-store && boxyard up -d": "e2e/cli/local-server.test.ts",
  "boxyard template rebuild base": "e2e/templates/rebuild.test.ts",
};

/** What must be there before a line, beside what the lines before it have made. */
const BEFORE: Readonly<Record<string, string>> = {
  "boxyard cp SANDBOX:/srv/project/out.csv .": "boxyard cp project/ SANDBOX:/srv/project",
  "boxyard cp SANDBOX:/srv/project/. project": "boxyard cp project/ SANDBOX:/srv/project",
  "boxyard cp SANDBOX:notes.txt - | less": "boxyard exec SANDBOX -- touch notes.txt",
  "boxyard rm $(boxyard ls -q)": "boxyard sandbox create",
  "boxyard sandbox rollback SANDBOX ready": "boxyard snapshot create SANDBOX --name ready",
  "boxyard sandbox network-log SANDBOX --follow": "boxyard exec SANDBOX -- getent hosts followed.example || true",
  "boxyard watch SANDBOX -r /home/user/project": "boxyard exec SANDBOX -- mkdir project",
  "boxyard template tag my-app v1 --remove": "boxyard template tag my-app v1",
  "boxyard template untag my-app v1": "boxyard template tag my-app v1",
  // From here on it is a small one: base takes half a minute to pack.
  "boxyard template push my-app localhost:5000/team/my-app:v2": "boxyard template build my-app -f tiny.Dockerfile --tag default --tag v2",
  'boxyard completion zsh > "${fpath[1]}/_boxyard"': "fpath=($HOME)",
  "boxyard completion bash > /etc/bash_completion.d/boxyard": "mkdir -p /etc/bash_completion.d; mount -t tmpfs none /etc/bash_completion.d",
};
/** What is typed into a terminal to end a line that is one. */
const TYPED: Readonly<Record<string, string>> = {
  "boxyard run -it -- bash": "exit 0",
  "boxyard shell": "exit 0",
  "boxyard shell -t code-interpreter": "exit 0",
  "boxyard shell SANDBOX": "exit 0",
  "boxyard shell SANDBOX -- top": "q",
  "boxyard shell SANDBOX --attach": "exit 0",
  "boxyard exec -it SANDBOX -- bash": "exit 0",
};
/** Lines that go on until Ctrl-C, and what they show before it. */
const FOLLOWS: Readonly<Record<string, RegExp>> = {
  "boxyard logs -f SANDBOX PID": /tick/,
  "boxyard attach SANDBOX PID": /tick/,
  "boxyard port SANDBOX 8000": /127\.0\.0\.1/,
  "boxyard port SANDBOX 8080:80": /127\.0\.0\.1/,
  "boxyard port SANDBOX 0:3000": /127\.0\.0\.1/,
  "boxyard port --local 5432:5432 SANDBOX": /127\.0\.0\.1/,
  "boxyard port --local 0:22 SANDBOX": /127\.0\.0\.1/,
  "boxyard sandbox network-log SANDBOX --follow": /followed\.example/,
  "boxyard watch SANDBOX -r /home/user/project": /watching/,
};

const PROMPT = /user@i\w+:~\$$/m;
const TICKS = "while true; do echo tick; sleep 0.2; done";

/** A line with what its placeholders stand for, typed in the directory of the files; and its surroundings. */
async function run({ of, line }: HelpExample): Promise<void> {
  await using sandbox = line.includes("SANDBOX") ? await createSandbox(platform()) : undefined;
  const command = await sandbox?.client.commands.run(TICKS, { background: true, timeoutMs: 0 });
  const id = sandbox?.id ?? "";
  const real: Readonly<Record<string, string>> = {
    SANDBOX: id,
    PID: String(command?.pid),
    "8000": String(await freePort()),
    "8080": String(await freePort()),
    "5432": String(await freePort()),
    "localhost:5000": registry.host,
  };
  const filled = (text: string) =>
    text.replace(/\b(SANDBOX|PID|localhost:5000)\b|(?<=port \S+ )(8000|8080|5432)\b/g, (name) => real[name] as string);
  const env = {
    ...platform().env,
    HOME: directory,
    PATH: `${join(directory, "bin")}:${platform().env.PATH}`,
    // What is kept on this machine is not kept in the installation that a user of it may have.
    BOXYARD_DATA: join(directory, "data"),
  };
  const first = BEFORE[line] === undefined ? "" : `${filled(BEFORE[line])}\n`;
  const [typed, shows] = [TYPED[line], FOLLOWS[line]];
  if (typed === undefined && shows === undefined) {
    const shell = of === "completion" && line.includes("zsh") ? "zsh" : "bash";
    const argv = ["unshare", "--mount", shell, "-ec", first + filled(line)];
    const ended = await runProgram(argv, { cwd: directory, env, limitMs: 180_000 });
    const { exitCode, stdout, stderr } = ended;
    expect({ exitCode, output: exitCode === 0 ? "" : stdout + stderr }).toEqual({ exitCode: 0, output: "" });
    return;
  }
  if (first) expect(await runProgram(["bash", "-ec", first], { cwd: directory, env })).toMatchObject({ exitCode: 0 });
  await using terminal = await Terminal.open(env, { cols: 200, rows: 30 });
  if (line.endsWith("--attach")) {
    await terminal.type(`boxyard shell ${id}`);
    await terminal.shows(PROMPT, 30_000);
    await terminal.key("C-]");
    await terminal.type("d", false);
    await terminal.shows(/reconnects$/m);
    await terminal.type("clear");
  }
  await terminal.type(`${filled(line)}; echo "ended with $?"`);
  await terminal.shows(shows ?? (line.endsWith("top") ? /Tasks:/ : PROMPT), 30_000);
  if (shows) await terminal.key("C-c");
  else await terminal.type(typed ?? "", typed !== "q");
  await terminal.shows(shows ? /ended with 130$/m : /^ended with 0$/m, 30_000);
}

const examples = await helpExamples();
for (const example of examples) {
  const elsewhere = ELSEWHERE[example.of] ?? ELSEWHERE[example.line];
  if (elsewhere === undefined) test(`${example.of}: ${example.text}`, () => run(example), 200_000);
}

test("what stands in the tables above are lines of help texts", () => {
  const lines = new Set(examples.flatMap(({ of, line }) => [of, line]));
  const named = [ELSEWHERE, BEFORE, TYPED, FOLLOWS].flatMap((table) => Object.keys(table));
  expect(named.filter((name) => !lines.has(name))).toEqual([]);
});

// A test, and the last one: `afterAll` comes when the server has ended.
test("what the examples have made is removed: other files have this platform next", async () => {
  await removeMade(platform());
  expect(await kept(platform())).toEqual(before);
}, 120_000);
