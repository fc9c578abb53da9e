import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AGENT_ENVIRONMENT } from "@boxyard/driver";
import { buildGuest } from "@boxyard/driver-local/setup";
import { OLD_GLIBC, oldGlibcTar } from "../support/old-glibc.ts";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { content, postCompose, put } from "./support/files.ts";
import { stream, unary } from "./support/rpc.ts";
import { collect, firstPid, readUntil, run, shell, start } from "./support/run.ts";

// The real guest bundle, in root file systems with almost no files. The bundle has its own loader and libc, and must need nothing else.

let directory = "";
const bundle = () => join(directory, "bundle");
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-any-image-"));
  await buildGuest(bundle(), { env: process.env });
}, 60_000);
afterAll(() => rmSync(directory, { recursive: true }));

async function inImage(fill: string, user: string | null, body: (agent: AgentUnderTest) => Promise<void>): Promise<void> {
  const agent = await startAgent({ image: { bundle: bundle(), fill }, passwd: user === null ? null : "" });
  try {
    await body(agent);
  } finally {
    await agent.stop();
  }
}

const BUSYBOX = "mkdir -p bin && cp /usr/bin/busybox bin/busybox";
const USER =
  "mkdir -p etc home/user root && echo 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh' > etc/passwd && chown 1000:1000 home/user";

/** The command of one of the usual programs in an image. */
type CommandOf = (program: string) => readonly [string, ...string[]];
const ofBusybox: CommandOf = (program) => ["/bin/busybox", program];
const itself: CommandOf = (program) => [`/bin/${program}`];

/** What the agent must do in every image. */
async function everything(agent: AgentUnderTest, commandOf: CommandOf = ofBusybox): Promise<void> {
  const processOf = (program: string, ...more: readonly string[]) => {
    const [cmd, ...args] = commandOf(program);
    return { cmd, args: [...args, ...more] };
  };
  expect((await collect(await start(agent, { process: processOf("echo", "direct") }))).stdout).toBe("direct\n");
  expect((await collect(await start(agent, { process: processOf("sh", "-c", "exit 3") }))).end.exitCode).toBe(3);
  await allOfFiles(agent);
  const terminal = await start(agent, {
    process: { ...processOf("sh"), envs: { PS1: "> " } },
    pty: { size: { cols: 80, rows: 24 } },
  });
  const pid = await firstPid(terminal);
  await unary(agent, "process.Process/SendInput", { process: { pid }, input: { pty: btoa(`${commandOf("stty").join(" ")} size\n`) } });
  await readUntil(terminal, (soFar) => soFar.pty.includes("24 80"));
  await unary(agent, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
  expect((await collect(terminal)).end.status).toBe("signal: killed");
  expect((await fetch(`${agent.baseUrl}/metrics`, { headers: authorised(agent) })).status).toBe(200);
}

/** Every operation on files that needs something of the kernel or of libc. */
async function allOfFiles(agent: AgentUnderTest): Promise<void> {
  const call = async (method: string, message: object) => {
    const { status, body } = await unary(agent, `filesystem.Filesystem/${method}`, message, { user: "root" });
    expect([method, status]).toEqual([method, 200]);
    return body;
  };
  const query = { username: "root" };
  for (const name of ["a", "b"]) expect((await put(agent, `/tmp/${name}`, name, { query })).status).toBe(200);
  expect(await content(agent, "/tmp/a", { query })).toBe("a");
  const watch = await stream(agent, "filesystem.Filesystem/WatchDir", { path: "/tmp" });
  expect((await watch.envelopes.next()).value?.message).toEqual({ start: {} });
  expect((await postCompose(agent, { source_paths: ["/tmp/a", "/tmp/b"], destination: "/tmp/ab", ...query })).status).toBe(200);
  expect((await watch.envelopes.next()).value?.message).toEqual({ filesystem: { name: "ab", type: "EVENT_TYPE_CREATE" } });
  watch.leave();
  expect(await content(agent, "/tmp/ab", { query })).toBe("ab");
  await call("MakeDir", { path: "/tmp/dir/sub" });
  expect((await call("Move", { source: "/tmp/ab", destination: "/tmp/dir/sub/moved" })).entry.path).toBe("/tmp/dir/sub/moved");
  expect((await call("Stat", { path: "/tmp/dir/sub/moved" })).entry).toMatchObject({ size: "2", owner: "root", group: "root" });
  const { entries } = await call("ListDir", { path: "/tmp", depth: 3 });
  expect(entries.map((entry: { path: string; owner: string }) => [entry.path, entry.owner])).toEqual([
    ["/tmp/dir", "root"],
    ["/tmp/dir/sub", "root"],
    ["/tmp/dir/sub/moved", "root"],
  ]);
  await call("Remove", { path: "/tmp/dir" });
  expect((await call("ListDir", { path: "/tmp" })).entries).toEqual([]);
}

describe("the agent runs in any image", () => {
  test("neither shell nor libc nor users: a static busybox only", async () => {
    await inImage(BUSYBOX, null, async (agent) => {
      await everything(agent);
      // What clients send as /bin/bash runs in the one shell there is.
      expect((await run(agent, "echo $0 works; pwd")).stdout).toContain("works\n/\n");
      expect((await run(agent, "true", { user: "user" })).error?.code).toBe("unauthenticated");
    });
  });

  test("nothing at all: commands end with 127 and say why, files work", async () => {
    await inImage("true", null, async (agent) => {
      // A line of only words needs no shell, and any other does.
      for (const [line, missing] of [
        ["true", "true"],
        ["true && true", "/bin/bash"],
      ] as const) {
        const result = await collect(await start(agent, shell(line)));
        expect([line, result.end.exitCode, result.stderr]).toEqual([line, 127, `${missing}: command not found\n`]);
      }
      await allOfFiles(agent);
    });
  });

  test("musl, as Alpine is laid out: its loader, its programs, sh and no bash", async () => {
    const program = '#include <stdio.h>\\nint main(void) { puts("from musl"); return 0; }\\n';
    const musl = `${BUSYBOX} && ln -s busybox bin/sh && ${USER} && mkdir -p lib && cp /usr/lib/*-linux-musl/libc.so lib/ld-musl-$(uname -m).so.1 && printf '${program}' > ${directory}/hello.c && musl-gcc -o bin/hello ${directory}/hello.c`;
    await inImage(musl, "user", async (agent) => {
      await everything(agent);
      expect((await collect(await start(agent, { process: { cmd: "/bin/hello" } }))).stdout).toBe("from musl\n");
      expect((await run(agent, "busybox id -u; pwd; hello", { user: "user" })).stdout).toBe("1000\n/home/user\nfrom musl\n");
    });
  });

  test("a glibc that the agent could never load: its own is the only one it looks at", async () => {
    const broken = `${BUSYBOX} && ${USER} && mkdir -p lib64 lib/x86_64-linux-gnu etc && for f in lib64/ld-linux-x86-64.so.2 lib/x86_64-linux-gnu/libc.so.6 lib/x86_64-linux-gnu/libm.so.6; do echo ancient > $f; done && echo /lib/x86_64-linux-gnu > etc/ld.so.conf`;
    await inImage(broken, "user", everything);
  });

  test("an old glibc: programs of Debian 11 run on theirs, the agent on its own", async () => {
    const fill = `tar -xf ${await oldGlibcTar()} && ln -s bash bin/sh && ${USER}`;
    await inImage(fill, "user", async (agent) => {
      await everything(agent, itself);
      // The library is a program too, which says what it is; a shell's map of memory says what was loaded.
      const { stdout } = await run(agent, "echo /lib/*/libc.so.6; /lib/*/libc.so.6; exec cat /proc/self/maps", { user: "user" });
      expect(stdout).toMatch(/^\/lib\/[^ ]+\/libc\.so\.6\n/);
      expect(stdout).toContain(`stable release version ${OLD_GLIBC}.`);
      expect(stdout).toContain(`libc-${OLD_GLIBC}.so`);
      expect(stdout).not.toContain("/.boxyard");
      // Names are looked up by the agent for the start, and by the image's own libc for `id`.
      const asUser = await run(agent, "id -un; id -u; pwd; echo ~root", { user: "user" });
      expect(asUser.stdout).toBe("user\n1000\n/home/user\n/root\n");
      expect((await run(agent, "true", { user: "nobody" })).error?.code).toBe("unauthenticated");
    });
  }, 120_000);

  test("programs of the sandbox never see the agent's own environment", async () => {
    await inImage(BUSYBOX, null, async (agent) => {
      const { stdout } = await collect(await start(agent, { process: { cmd: "/bin/busybox", args: ["env"] } }));
      for (const name of Object.keys(AGENT_ENVIRONMENT)) expect(stdout).not.toContain(name);
    });
  });
});
