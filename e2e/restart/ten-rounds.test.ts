import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, lacks, readTestConfig } from "@boxyard/testkit";
import { KEEP_IN_MEMORY } from "@boxyard/testkit/fault-points";
import { runGo } from "../support/go.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

/*
 * What people leave running, all of it in one sandbox that is paused and resumed ten times: from memory, from disk, after `kill -9` of the server, and
 * after a reboot as far as one can be had without one (every process ended, the pool unmounted).
 */

const platform = usePlatform({ faults: true });
const HELD_MIB = 64;

/** A bundler as it watches: what it makes follows its source, and a timer of its own goes on. */
const WATCHER = `
const fs = require("node:fs"); let builds = 0, beats = 0;
const build = () => { builds++; fs.writeFileSync("/w/dist.new", fs.readFileSync("/w/src/input", "utf8").trim() + " built"); fs.renameSync("/w/dist.new", "/w/dist"); };
fs.watch("/w/src", { recursive: true }, build); build();
setInterval(() => { beats++; fs.writeFileSync("/w/node.new", beats + " " + builds); fs.renameSync("/w/node.new", "/w/node"); }, 50);
`;

/** Eight threads that hand one number round. Of the library only what compiles quickly: with `fmt` and `os` the build takes twice as long. */
const THREADS_IN_GO = `package main

import (
	"runtime"
	"syscall"
)

const n = 8

func number(value int) string {
	digits := ""
	for ; value > 9; value /= 10 {
		digits = string(rune('0'+value%10)) + digits
	}
	return string(rune('0'+value)) + digits
}

func write(text string) {
	file, err := syscall.Open("/w/threads.new", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o644)
	if err != nil {
		return
	}
	_, err = syscall.Write(file, []byte(text))
	syscall.Close(file)
	if err == nil {
		syscall.Rename("/w/threads.new", "/w/threads")
	}
}

func main() {
	var turns [n]int
	var next [n]chan bool
	for i := range next {
		next[i] = make(chan bool)
	}
	for i := 0; i < n; i++ {
		go func(own int) {
			// Each has a thread of the kernel's to itself.
			runtime.LockOSThread()
			for <-next[own] {
				turns[own]++
				if own == n-1 {
					text := number(turns[0])
					for _, count := range turns[1:] {
						text += " " + number(count)
					}
					write(text)
					syscall.Nanosleep(&syscall.Timespec{Nsec: 20_000_000}, nil)
				}
				next[(own+1)%n] <- true
			}
		}(i)
	}
	next[0] <- true
	select {}
}
`;

/** The same for machines without Go. */
const THREADS_IN_C = `
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define N 8
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long turns[N]; static int turn;
static void *take(void *at) {
  long own = (long)at;
  for (;;) {
    pthread_mutex_lock(&lock);
    while (turn != own) pthread_cond_wait(&turned, &lock);
    turns[own]++; turn = (turn + 1) % N;
    if (own == N - 1) { FILE *f = fopen("/w/threads.new", "w"); fprintf(f, "%ld", turns[0]); for (int i = 1; i < N; i++) fprintf(f, " %ld", turns[i]); fclose(f); rename("/w/threads.new", "/w/threads"); usleep(20000); }
    pthread_cond_broadcast(&turned); pthread_mutex_unlock(&lock);
  }
}
int main(void) { pthread_t t; for (long i = 0; i < N; i++) pthread_create(&t, 0, take, (void *)i); pause(); }
`;

/** A database in WAL mode that is written to all the time. */
const WRITER = `
import os, sqlite3, time
db = sqlite3.connect("/w/db", timeout=60, isolation_level=None)
db.execute("pragma journal_mode=wal")
db.execute("create table rows (n integer primary key)")
n = 0
while True:
    n += 1
    db.execute("insert into rows values (?)", (n,))
    open("/w/rows.new", "w").write(str(n)); os.rename("/w/rows.new", "/w/rows")
    time.sleep(0.02)
`;

/** Another process opens it, whole and with every row. */
const ASK_WRITER = `python3 -c '
import sqlite3
db = sqlite3.connect("/w/db", timeout=60)
print(*db.execute("pragma integrity_check").fetchone(), *db.execute("select count(*) = max(n) from rows").fetchone())'`;

/** Memory whose digest is known, and a server that counts. */
const HOLDER = `
import hashlib, http.server, os
memory = os.urandom(${HELD_MIB} << 20); digest = hashlib.sha256(memory).hexdigest(); served = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global served
        served += 1; same = hashlib.sha256(memory).hexdigest() == digest
        body = f"{served} {same}".encode()
        self.send_response(200); self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 7070), Handler).serve_forever()
`;

const ASK_HOLDER = "curl -sf http://127.0.0.1:7070/";
const TREE_DIGEST = "cd /w/tree && find . -type f | sort | xargs sha256sum | sha256sum";

type Way = "from memory" | "from disk" | "after kill -9" | "after a reboot";
const ROUNDS: readonly Way[] = [
  ...(["from memory", "from disk", "after kill -9", "from memory", "after a reboot"] as const),
  ...(["from disk", "from memory", "after kill -9", "after a reboot", "from memory"] as const),
];

test("what runs in a sandbox goes on through ten pauses and resumes", async () => {
  await using sandbox = await createSandbox(platform(), { timeoutMs: 600_000 });
  const vim = await prepare(sandbox);
  const digest = await output(sandbox, TREE_DIGEST);
  const served = Number((await output(sandbox, ASK_HOLDER)).split(" ")[0]);
  let before = await seen(sandbox);
  for (const [index, way] of ROUNDS.entries()) {
    await pauseAndResume(sandbox, way);
    const round = index + 1;
    await eventually(`round ${round}, ${way}: all go on`, async () => {
      const now = await seen(sandbox);
      return now.every((count, i) => count > (before[i] as number));
    });
    // No thread has lost its turn.
    const turns = (await output(sandbox, "cat /w/threads")).split(" ").map(Number);
    expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1);
    expect(await output(sandbox, ASK_HOLDER)).toBe(`${served + round} True`);
    expect(await output(sandbox, ASK_WRITER)).toBe("ok 1");
    expect(await output(sandbox, TREE_DIGEST)).toBe(digest);
    await sandbox.client.pty.sendInput(vim, new TextEncoder().encode(`oround ${round}\u001b:w\r`));
    await sandbox.asRoot(`echo line ${round} >> /w/log; echo source ${round} > /w/src/input`);
    const lines = Array.from({ length: round }, (_, i) => i + 1);
    const told = () => output(sandbox, "cat /w/text; cat /w/tailed; cat /w/dist");
    const wanted = [...lines.map((n) => `round ${n}`), ...lines.map((n) => `line ${n}`), `source ${round} built`].join("\n");
    await eventually(`round ${round}, ${way}: vim, tail and the watcher do their work`, async () => (await told()).trim() === wanted).catch(
      async (error) => {
        throw new Error(`${await told()}\nis not\n${wanted}`, { cause: error });
      },
    );
    before = await seen(sandbox);
  }
}, 240_000);

const output = async (sandbox: HeldSandbox, command: string) => {
  const { stdout, stderr, exitCode } = await sandbox.asRoot(command);
  if (exitCode !== 0)
    throw new Error(
      `${command} (${exitCode}): ${stderr} ${(await sandbox.asRoot("cat /w/errors; cat /proc/[0-9]*/comm | tr '\\n' ' '")).stdout}`,
    );
  return stdout.trim();
};

/** Counts of the shell loop, of the watcher's timer, of the first thread, and of the rows. */
const seen = async (sandbox: HeldSandbox) => {
  const text = await output(sandbox, "cat /w/loop; cut -d' ' -f1 /w/node; cut -d' ' -f1 /w/threads; cat /w/rows; echo");
  return text.split("\n").map(Number);
};

/** Makes the program with the threads: by the machine's Go where there is one, else by the C compiler of the sandbox. */
async function makeThreads(sandbox: HeldSandbox): Promise<void> {
  if (lacks("go")) {
    await sandbox.client.files.write("/w/threads.c", THREADS_IN_C);
    await output(sandbox, "gcc -O1 -pthread -o /w/run-threads /w/threads.c");
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), "boxyard-ten-rounds-"));
  try {
    writeFileSync(join(directory, "threads.go"), THREADS_IN_GO);
    const env = { ...readTestConfig().env, GOCACHE: join(directory, "cache") };
    // Without inlining: to look for what can be inlined takes a fifth of the build.
    await runGo(["build", "-gcflags=all=-l", "-o", "threads", "threads.go"], { cwd: directory, env });
    await sandbox.client.files.write("/w/run-threads", new Blob([readFileSync(join(directory, "threads"))]));
    await output(sandbox, "chmod +x /w/run-threads");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Starts everything; gives the process number of the terminal that vim is in. */
async function prepare(sandbox: HeldSandbox): Promise<number> {
  const { client } = sandbox;
  await sandbox.asRoot("mkdir -p /w/src /w/tree && chmod -R 777 /w && echo first > /w/src/input && touch /w/log");
  await sandbox.asRoot("cd /w/tree && for i in $(seq 300); do mkdir -p d$((i % 20)); head -c 4096 /dev/urandom > d$((i % 20))/f$i; done");
  await client.files.write("/w/watcher.js", WATCHER);
  await client.files.write("/w/holder.py", HOLDER);
  await client.files.write("/w/writer.py", WRITER);
  await makeThreads(sandbox);
  const programs = [
    "exec node /w/watcher.js",
    "exec /w/run-threads",
    "exec python3 /w/holder.py 2> /w/errors",
    "exec python3 /w/writer.py 2>> /w/errors",
    "exec tail -f /w/log > /w/tailed",
    "n=0; while n=$((n+1)); do echo $n > /w/loop.new; mv /w/loop.new /w/loop; sleep 0.05; done",
  ];
  for (const program of programs) await (await client.commands.run(program, { user: "root", background: true, timeoutMs: 0 })).disconnect();
  const terminal = await client.pty.create({ cols: 80, rows: 24, user: "root", timeoutMs: 0, onData: () => {} });
  await client.pty.sendInput(terminal.pid, new TextEncoder().encode("exec vim -n -u NONE /w/text\r"));
  await eventually("vim is there", async () => (await output(sandbox, "cat /proc/[0-9]*/comm")).includes("vim"));
  await eventually(
    "everything runs",
    async () => (await sandbox.asRoot(`${ASK_HOLDER} && cat /w/loop /w/node /w/threads /w/rows`)).exitCode === 0,
  );
  await terminal.disconnect();
  return terminal.pid;
}

async function pauseAndResume(sandbox: HeldSandbox, way: Way): Promise<void> {
  if (way === "from disk") platform().inject({ ...KEEP_IN_MEMORY, when: "before", act: "internal" });
  expect(await sandbox.client.pause()).toBe(true);
  if (way === "after kill -9" || way === "after a reboot") {
    await platform().kill9();
    if (way === "after a reboot") {
      await endAll();
      await platform().setUp();
    }
    await platform().restart();
  }
  await sandbox.client.connect({ timeoutMs: 600_000 });
}

/** What a reboot does to what this server has on the machine. */
async function endAll(): Promise<void> {
  const { dataDir } = platform();
  const { instance } = JSON.parse(readFileSync(join(dataDir, "instance.json"), "utf8")) as { instance: string };
  const top = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
    .map((at) => join(at, `boxyard-${instance}`))
    .find((at) => existsSync(at)) as string;
  const groups = readdirSync(top).filter((name) => name.startsWith("i") && existsSync(join(top, name, "cgroup.kill")));
  for (const name of groups) writeFileSync(join(top, name, "cgroup.kill"), "1");
  const isOver = () => groups.every((name) => readFileSync(join(top, name, "cgroup.events"), "utf8").includes("populated 0"));
  await eventually("every process has ended", isOver);
  await eventually(
    "the pool is unmounted",
    async () => (await Bun.spawn(["umount", join(dataDir, "pool")], { stderr: "ignore" }).exited) === 0,
  );
}
