import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent, testAlone } from "./support/agent-under-test.ts";
import { AGENT_PID, asRoot, openFiles, postCompose, put, putForm } from "./support/files.ts";
import { type CallOptions, stream, unary } from "./support/rpc.ts";

setDefaultTimeout(60_000);

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const call = (method: string, message: unknown, options: CallOptions = {}) =>
  unary(agent, `filesystem.Filesystem/${method}`, message, options);

interface Seen {
  /** `CREATE name`, in the order they came. */
  readonly events: string[];
  // biome-ignore lint/suspicious/noExplicitAny: what the agent sent, to be looked at by the test.
  readonly raw: any[];
  /** Resolves when an event like this was seen. */
  until(event: string): Promise<void>;
  /** The error of the end-of-stream envelope, once the stream has ended. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly end: Promise<any>;
  leave(): void;
}

const open = async (message: object, options: CallOptions, of: AgentUnderTest) => {
  const opened = await stream(of, "filesystem.Filesystem/WatchDir", message, options);
  expect(opened.status).toBe(200);
  return opened;
};

/** What a watch that the agent refuses is answered: the one message of its stream. */
async function refusal(message: object, of = agent) {
  const { envelopes } = await open(message, {}, of);
  const [only, ...more] = await Array.fromAsync(envelopes);
  expect([only?.flags, more]).toEqual([2, []]);
  return only?.message;
}

/** Opens WatchDir and collects its events; resolves after `start`, and fails where the agent refuses the watch. */
async function watch(message: object, options: CallOptions = {}, of = agent): Promise<Seen> {
  const opened = await open(message, options, of);
  const events: string[] = [];
  const raw: unknown[] = [];
  const first = await opened.envelopes.next();
  expect(first.value?.message).toEqual({ start: {} });
  const collect = async () => {
    for await (const { flags, message } of opened.envelopes) {
      if (flags === 2) return message;
      if (message.keepalive) events.push("keepalive");
      if (!message.filesystem) continue;
      raw.push(message.filesystem);
      events.push(`${message.filesystem.type.replace("EVENT_TYPE_", "")} ${message.filesystem.name}`);
    }
  };
  const until = async (event: string) => {
    for (const deadline = Date.now() + 10_000; !events.includes(event); await Bun.sleep(5)) {
      if (Date.now() > deadline) throw new Error(`no ${event} in ${events.slice(-20).join(", ")}`);
    }
  };
  const end = collect().catch(() => undefined);
  return { events, raw, until, end, leave: opened.leave };
}

/** Number of the directories that the agent watches in the kernel. */
const watches = async () => Number(await asRoot(agent, `${AGENT_PID}; cat /proc/$pid/fdinfo/* 2>/dev/null | grep -c inotify || true`));

/** A fresh directory of the user. */
let count = 0;
async function directory(): Promise<string> {
  const path = `/home/user/watched-${count++}`;
  await asRoot(agent, `mkdir ${path} && chown user ${path}`);
  return path;
}

/** Makes that many files, a call and an event for each; touch(1) makes five calls. */
const manyFiles = (number: number | string) => `python3 -c 'import os\nfor i in range(${number}): os.mknod(str(i))'`;

/** The kernel keeps 16,384 events: on a machine that gives the agent no turn for a tenth of a second it loses some, and the watch says so. */
async function unlessKernelLost(attempt: () => Promise<boolean>): Promise<void> {
  for (let attempts = 0; attempts < 5; attempts++) if (await attempt()) return;
  throw new Error("events were lost each time");
}

describe("WatchDir", () => {
  test("create→CREATE, modify→WRITE, delete→REMOVE, moved-from→RENAME and moved-to→CREATE, attrib→CHMOD; names relative", async () => {
    const path = await directory();
    const seen = await watch({ path });
    await asRoot(agent, `cd ${path} && touch a && printf x >> a && chmod 600 a && mv a b && rm b && mkdir d && touch last`);
    await seen.until("CREATE last");
    expect(seen.events.filter((event, i) => event !== seen.events[i - 1]).slice(0, 9)).toEqual([
      "CREATE a",
      "CHMOD a",
      "WRITE a",
      "CHMOD a",
      "RENAME a",
      "CREATE b",
      "REMOVE b",
      "CREATE d",
      "CREATE last",
    ]);
    seen.leave();
  });

  test("changes in subdirectories are not reported unless recursive", async () => {
    const path = await directory();
    await asRoot(agent, `mkdir ${path}/sub`);
    const seen = await watch({ path });
    await asRoot(agent, `touch ${path}/sub/deep ${path}/here`);
    await seen.until("CREATE here");
    expect(seen.events.some((event) => event.includes("deep"))).toBe(false);
    seen.leave();
  });

  test("recursive: names with their directories, and directories created later are covered with what is in them", async () => {
    const path = await directory();
    await asRoot(agent, `mkdir -p ${path}/old/er`);
    const seen = await watch({ path, recursive: true });
    await asRoot(agent, `cd ${path} && echo x > old/er/file && mkdir -p new/deep/est && echo x > new/deep/est/file`);
    await seen.until("WRITE old/er/file");
    await seen.until("WRITE new/deep/est/file");
    await asRoot(agent, `echo x > ${path}/new/deep/later`);
    await seen.until("WRITE new/deep/later");
    seen.leave();
  });

  test("no file is lost and none reported twice while hundreds of directories appear", async () => {
    const path = await directory();
    const seen = await watch({ path, recursive: true });
    await asRoot(agent, `cd ${path} && for i in $(seq 1 300); do mkdir -p d$i/x && : > d$i/x/f; done; touch last`);
    await seen.until("CREATE last");
    // Time alone: a second report of an event would come after the last event.
    await Bun.sleep(200);
    const created = seen.events.filter((event) => event.startsWith("CREATE "));
    const expected = Array.from({ length: 300 }, (_, i) => [`CREATE d${i + 1}`, `CREATE d${i + 1}/x`, `CREATE d${i + 1}/x/f`]).flat();
    expect(created.sort()).toEqual([...expected, "CREATE last"].sort());
    seen.leave();
  });

  test("a directory renamed inside keeps being watched under its new name; one moved out does not", async () => {
    const path = await directory();
    await asRoot(agent, `mkdir -p ${path}/a/b`);
    const seen = await watch({ path, recursive: true });
    await asRoot(agent, `mv ${path}/a ${path}/c && touch ${path}/c/b/f`);
    await seen.until("CREATE c/b/f");
    await asRoot(agent, `mv ${path}/c ${path}-out`);
    await seen.until("RENAME c");
    // Time alone: until then the agent holds that the directory may come back under another name.
    await Bun.sleep(700);
    await asRoot(agent, `touch ${path}-out/b/unseen && touch ${path}/end`);
    await seen.until("CREATE end");
    expect(seen.events.some((event) => event.includes("unseen"))).toBe(false);
    seen.leave();
  });

  test("uploads and compositions look like direct writes", async () => {
    const path = await directory();
    await put(agent, `${path}/old`, "1");
    const seen = await watch({ path, recursive: true });
    await put(agent, `${path}/new`, "x");
    await put(agent, `${path}/old`, "2");
    await putForm(agent, [
      [`${path}/deep/one`, "1"],
      [`${path}/two`, "2"],
    ]);
    await postCompose(agent, { source_paths: [`${path}/two`], destination: `${path}/composed` });
    await seen.until("REMOVE two");
    expect(seen.events.join("\n")).not.toContain(".boxyard-");
    const of = (name: string) => seen.events.filter((event) => event.endsWith(` ${name}`)).map((event) => event.split(" ")[0]);
    expect([of("new"), of("old"), of("composed"), of("two").slice(0, 3)]).toEqual([
      ["CREATE", "CHMOD", "WRITE"],
      ["CHMOD", "WRITE"],
      ["CREATE", "CHMOD", "WRITE"],
      ["CREATE", "CHMOD", "WRITE"],
    ]);
    expect(of("deep/one")).toContain("WRITE");
    seen.leave();
  });

  test("include_entry: the entry for CREATE, WRITE and CHMOD while it is there; never for REMOVE and RENAME", async () => {
    const path = await directory();
    const seen = await watch({ path, includeEntry: true });
    await asRoot(agent, `cd ${path} && printf hello > a && touch m && mv m n && rm n`);
    await seen.until("REMOVE n");
    const of = (name: string, type: string) => seen.raw.find((event) => event.name === name && event.type === `EVENT_TYPE_${type}`);
    expect(of("a", "WRITE").entry).toMatchObject({
      name: "a",
      path: `${path}/a`,
      type: "FILE_TYPE_FILE",
      size: "5",
      permissions: "-rw-r--r--",
    });
    expect([of("m", "RENAME").entry, of("n", "REMOVE").entry]).toEqual([undefined, undefined]);
    seen.leave();
    const without = await watch({ path });
    await asRoot(agent, `touch ${path}/b`);
    await without.until("CREATE b");
    expect(without.raw[0].entry).toBeUndefined();
    without.leave();
  });

  test("the directory may be reached through a link and by a relative path", async () => {
    const path = await directory();
    await asRoot(agent, `ln -s ${path} ${path}-link`);
    const seen = await watch({ path: `${path.slice("/home/user/".length)}-link` });
    await asRoot(agent, `touch ${path}/f`);
    await seen.until("CREATE f");
    seen.leave();
  });

  test("missing is not_found, not a directory invalid_argument, as the first thing said", async () => {
    expect(await refusal({ path: "none" })).toEqual({ error: { code: "not_found", message: "path /home/user/none not found" } });
    await asRoot(agent, "touch /home/user/plain-file");
    expect(await refusal({ path: "plain-file" })).toEqual({
      error: { code: "invalid_argument", message: "path /home/user/plain-file not a directory" },
    });
  });

  testAlone("a network file system is invalid_argument without allow_network_mounts, and can be watched with it", async () => {
    // With one of its own: the server of the directory is the first child of PID 1, where other tests look for the agent.
    const own = await startAgent({ prepare: `mkdir /home/fuse && python3 ${import.meta.dir}/support/fuse-directory.py /home/fuse` });
    try {
      const { error } = await refusal({ path: "/home/fuse" }, own);
      expect(error).toEqual({ code: "invalid_argument", message: "cannot watch path on network filesystem: /home/fuse" });
      expect((await unary(own, "filesystem.Filesystem/CreateWatcher", { path: "/home/fuse" })).body.code).toBe("invalid_argument");
      const seen = await watch({ path: "/home/fuse", allowNetworkMounts: true }, {}, own);
      await asRoot(own, "chmod 700 /home/fuse");
      await seen.until("CHMOD .");
      seen.leave();
    } finally {
      await own.stop();
    }
  });

  test("keepalive after silence; Connect-Timeout-Ms bounds the stream", async () => {
    const path = await directory();
    const seen = await watch({ path }, { headers: { "Keepalive-Ping-Interval": "1" }, timeoutMs: 2500 });
    await seen.until("keepalive");
    expect((await seen.end).error.code).toBe("deadline_exceeded");
  });

  test("30,000 files at once are all reported, and 17,000 that are moved in with their directory", async () => {
    await unlessKernelLost(async () => {
      const path = await directory();
      const seen = await watch({ path, recursive: true });
      const created = () => new Set(seen.events.filter((event) => event.startsWith("CREATE "))).size;
      await asRoot(agent, `cd ${path} && ${manyFiles(30_000)} && touch last`);
      await seen.until("CREATE last");
      if (seen.events.includes("WRITE .")) return false;
      expect(created()).toBe(30_001);
      await asRoot(
        agent,
        `mkdir ${path}-many && cd ${path}-many && ${manyFiles(17_000)} && mv ${path}-many ${path}/many && touch ${path}/end`,
      );
      await seen.until("CREATE end");
      await eventually("all are told", () => created() >= 47_003);
      expect([created(), seen.events.includes("WRITE .")]).toEqual([47_003, false]);
      seen.leave();
      return true;
    });
  });

  testAlone("events that the kernel lost are reported as WRITE of ., and later events are reported again", async () => {
    const path = await directory();
    await asRoot(agent, `mkdir -p ${path}/a/b`);
    const seen = await watch({ path, recursive: true });
    // Nobody takes the events meanwhile, more than the kernel keeps.
    const kept = 'int(open("/proc/sys/fs/inotify/max_queued_events").read())';
    const flood = `cd ${path}; ${manyFiles(`${kept} + 1`)}; mv a c; mkdir -p new/deep`;
    await asRoot(agent, `${AGENT_PID}; kill -STOP $pid; (${flood}); kill -CONT $pid`);
    await seen.until("WRITE .");
    const before = seen.events.length;
    await asRoot(agent, `cd ${path} && touch c/b/f new/deep/f end`);
    await seen.until("CREATE end");
    for (const name of ["c/b/f", "new/deep/f"]) await seen.until(`CREATE ${name}`);
    expect(seen.events.slice(before).filter((event) => event.endsWith("/f") && event.startsWith("CREATE"))).toHaveLength(2);
    seen.leave();
  });

  test("the directory itself removed is REMOVE of .", async () => {
    const path = await directory();
    const seen = await watch({ path });
    await asRoot(agent, `rmdir ${path}`);
    await seen.until("REMOVE .");
    seen.leave();
  });

  test("several watches of one directory each get everything; leaving ends only one's own", async () => {
    const path = await directory();
    const [one, two, three] = await Promise.all([watch({ path }), watch({ path, recursive: true }), watch({ path })]);
    one.leave();
    await asRoot(agent, `touch ${path}/f`);
    await Promise.all([two.until("CREATE f"), three.until("CREATE f")]);
    two.leave();
    await asRoot(agent, `touch ${path}/g`);
    await three.until("CREATE g");
    three.leave();
  });

  test("clients that leave free everything: 600 in a row, and no watch is left in the kernel", async () => {
    const path = await directory();
    await asRoot(agent, `mkdir ${path}/sub`);
    // A client of an earlier test may have left without the agent's notice: compare with now.
    const before = { watches: await watches(), files: await openFiles(agent) };
    for (let round = 0; round < 60; round++) {
      const many = await Promise.all(Array.from({ length: 10 }, () => watch({ path, recursive: true })));
      for (const seen of many) seen.leave();
      await Promise.all(many.map((seen) => seen.end));
      // The agent learns later that a client has left, and refuses more than 256 at once.
      await eventually("the agent has noticed most of them", async () => (await watches()) < before.watches + 100);
    }
    for (let i = 0; i < 100 && (await watches()) > before.watches; i++) await Bun.sleep(20);
    expect(await watches()).toBeLessThanOrEqual(before.watches);
    expect(await openFiles(agent)).toBe(before.files);
  });
});

describe("CreateWatcher, GetWatcherEvents, RemoveWatcher", () => {
  const ok = async (method: string, message: unknown) => {
    const { status, body } = await call(method, message);
    expect(status).toBe(200);
    return body;
  };
  const poll = async (watcherId: string) =>
    ((await ok("GetWatcherEvents", { watcherId })).events ?? []).map(
      (event: { type: string; name: string }) => `${event.type.replace("EVENT_TYPE_", "")} ${event.name}`,
    );
  /** The events so far, from several polls until there are `count`. */
  const pollUntil = async (watcherId: string, count: number): Promise<string[]> => {
    const events: string[] = [];
    await eventually(`${count} events`, async () => events.push(...(await poll(watcherId))) >= count);
    return events;
  };

  test("ids like w<random>; get drains; remove ends; then not_found", async () => {
    const path = await directory();
    const { watcherId } = await ok("CreateWatcher", { path, recursive: true });
    expect(watcherId).toMatch(/^w[0-9a-z]{20}$/);
    expect(await poll(watcherId)).toEqual([]);
    await asRoot(agent, `mkdir ${path}/d`);
    expect(await pollUntil(watcherId, 1)).toEqual(["CREATE d"]);
    await asRoot(agent, `touch ${path}/d/f`);
    expect(await pollUntil(watcherId, 2)).toEqual(["CREATE d/f", "CHMOD d/f"]);
    expect(await poll(watcherId)).toEqual([]);
    expect(await ok("RemoveWatcher", { watcherId })).toEqual({});
    for (const method of ["GetWatcherEvents", "RemoveWatcher"]) {
      expect((await call(method, { watcherId })).body).toEqual({ code: "not_found", message: `watcher with id ${watcherId} not found` });
    }
  });

  test("include_entry", async () => {
    const path = await directory();
    const { watcherId } = await ok("CreateWatcher", { path, includeEntry: true });
    await asRoot(agent, `touch ${path}/f`);
    const [event] = await eventually("it is told", async () => {
      const { events } = await ok("GetWatcherEvents", { watcherId });
      return (events ?? []).length > 0 && events;
    });
    expect(event.entry).toMatchObject({ path: `${path}/f`, type: "FILE_TYPE_FILE" });
    await ok("RemoveWatcher", { watcherId });
  });

  test("missing is not_found, a file invalid_argument", async () => {
    expect((await call("CreateWatcher", { path: "none" })).body.code).toBe("not_found");
    expect((await call("CreateWatcher", { path: "/etc/passwd" })).body.code).toBe("invalid_argument");
  });

  test("more than 256 watches at once are resource_exhausted; the others go on, and removed ones make room", async () => {
    await eventually("the agent has noticed that the clients of earlier tests have left", async () => (await watches()) === 0);
    const path = await directory();
    const ids: string[] = await Promise.all(Array.from({ length: 255 }, async () => (await ok("CreateWatcher", { path })).watcherId));
    const seen = await watch({ path });
    expect((await call("CreateWatcher", { path })).body.code).toBe("resource_exhausted");
    expect((await refusal({ path })).error.code).toBe("resource_exhausted");
    await asRoot(agent, `touch ${path}/f`);
    await seen.until("CREATE f");
    expect(await poll(ids[254] ?? "")).toContain("CREATE f");
    for (const watcherId of ids) await ok("RemoveWatcher", { watcherId });
    const { watcherId } = await ok("CreateWatcher", { path });
    await ok("RemoveWatcher", { watcherId });
    seen.leave();
  });

  test("a buffer that nobody empties is bounded, says that some are lost, and goes on", async () => {
    const path = await directory();
    const { watcherId } = await ok("CreateWatcher", { path });
    const change = `import os
names = ["%0240d" % i for i in range(4000)]
for _ in range(3):
    for name in names: os.mknod(name); os.utime(name)
    for name in names: os.unlink(name)`;
    await asRoot(agent, `cd ${path} && python3 -c '${change}'`);
    // Time alone: events that the kernel still has to tell come meanwhile, and nothing says which is the last.
    await Bun.sleep(200);
    const events = await poll(watcherId);
    expect(events.length).toBeGreaterThan(20_000);
    expect(events.length).toBeLessThan(36_000);
    expect(events.at(-1)).toBe("WRITE .");
    await asRoot(agent, `touch ${path}/after`);
    expect(await pollUntil(watcherId, 2)).toEqual(["CREATE after", "CHMOD after"]);
    await ok("RemoveWatcher", { watcherId });
  });
});
