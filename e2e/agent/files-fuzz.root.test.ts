import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { type Dice, mutate, rounds } from "./support/dice.ts";
import { AGENT_PID, asRoot, download, openFiles, postCompose, put } from "./support/files.ts";
import { stream, unary } from "./support/rpc.ts";
import { collect, start } from "./support/run.ts";

/*
 * Hostile input for a bounded time: the agent lives, keeps no file open, leaves no temporary file, and writes only where it
 * was asked to. The seed of a round is part of what each assertion compares, so a failure prints it.
 */

setDefaultTimeout(120_000);

let agent: AgentUnderTest;
let before = 0;
beforeAll(async () => {
  agent = await startAgent({
    prepare:
      "mkdir /home/elsewhere /home/small && chmod 777 /home/elsewhere && mount -t tmpfs -o size=8M tmpfs /home/small && chmod 777 /home/small",
  });
});
afterAll(() => agent.stop());
beforeEach(async () => {
  before = await openFiles(agent);
});
afterEach(async () => {
  expect((await fetch(`${agent.baseUrl}/health`)).status).toBe(204);
  for (let i = 0; i < 100 && (await openFiles(agent)) > before; i++) await Bun.sleep(20);
  expect([await openFiles(agent), await asRoot(agent, "find /home -name '.boxyard-*' | wc -l")]).toEqual([before, "0"]);
});

const MAZE = `
  rm -rf /home/user/maze /home/elsewhere/*; mkdir -p /home/user/maze/d/e /home/elsewhere/o && cd /home/user/maze
  ln -s d in; ln -s /home/elsewhere out; ln -s ../../elsewhere/o up; ln -s loop2 loop; ln -s loop loop2; ln -s nothing dang; ln -s /home/elsewhere/new made
  ln -s d/f filelink; ln -s . self; mkfifo fifo; mknod dev c 1 3; echo old > f; echo old > d/f; ln f hard; chmod 600 f; chown -R user:user /home/user/maze`;
const NAMES = [
  "d",
  "e",
  "in",
  "out",
  "up",
  "loop",
  "dang",
  "made",
  "filelink",
  "self",
  "fifo",
  "dev",
  "f",
  "hard",
  "new",
  "o",
  "..",
  ".",
  "",
  "~",
  "ü",
  "a b",
  "%2e%2e",
  "\\",
  "n".repeat(255),
  "n".repeat(256),
];

function mazePath(dice: Dice): string {
  const parts = Array.from({ length: 1 + dice.below(5) }, () => dice.pick(NAMES));
  const path = `/home/user/maze/${parts.join("/")}`;
  // Leaving the two directories by .. is allowed and not what this looks at.
  return path.split("/").filter((part) => part === "..").length > 1 ? "/home/user/maze/f" : path;
}

describe("paths", () => {
  test("uploads land where the kernel would write that path, and nowhere else", async () => {
    await rounds(async (dice, seed) => {
      await asRoot(agent, `${MAZE}; touch /home/.stamp; sleep 0.02`);
      const written: { path: string; text: string }[] = [];
      for (let i = 0; i < 60; i++) {
        const path = mazePath(dice);
        const text = `${seed}.${i}`;
        const response = await put(agent, path, text);
        expect([seed, path, [200, 400, 404].includes(response.status)]).toEqual([seed, path, true]);
        if (response.status === 200) written.push({ path, text });
      }
      const script = `while IFS= read -r p; do realpath -z -- "$p" | tr -d '\\0'; printf '\\t'; cat -- "$p"; printf '\\n'; done <<'END'\n${written.map(({ path }) => path).join("\n")}\nEND`;
      const found = (await asRoot(agent, script)).split("\n").map((line) => line.split("\t"));
      const last = new Map(found.map(([real], i) => [real, written[i]?.text]));
      expect([seed, written.length > 0 ? found.filter(([real, text]) => last.get(real) !== text) : []]).toEqual([seed, []]);
      const touched = (
        await asRoot(
          agent,
          "find /home /etc /tmp -type f -newer /home/.stamp ! -path '/tmp/boxyard-*' ! -path '/tmp/bash_jobs*' 2>/dev/null | grep -E '^(/home|/etc)/' || true",
        )
      )
        .split("\n")
        .filter(Boolean);
      expect([seed, touched.filter((path) => !last.has(path))]).toEqual([seed, []]);
      expect(
        await asRoot(
          agent,
          "cd /home/user/maze && readlink in out loop dang made filelink self | tr '\\n' ' '; stat -c %F fifo dev | tr '\\n' ' '",
        ),
      ).toBe("d /home/elsewhere loop2 nothing /home/elsewhere/new d/f . fifo character special file ");
    });
  });

  test("downloads and every RPC are answered, whatever the path", async () => {
    await asRoot(agent, MAZE);
    const odd = [
      "/proc/self/fd",
      "/proc/self/root/home/user/maze/f",
      "/proc/1/mem",
      "/proc/kmsg",
      "/proc/self/environ",
      "/dev/stdin",
      "/dev/tty",
      "/dev/zero",
      "/sys/kernel/notes",
      "/proc/sys/vm/drop_caches",
      "/proc/self/cwd",
      "\0",
      "\ud800",
      "/".repeat(5000),
      `/${"a/".repeat(2000)}`,
      "~root",
      "~",
    ];
    await rounds(async (dice, seed) => {
      const path = dice.below(4) === 0 ? dice.pick(odd) : mazePath(dice);
      // A request that is never answered ends here.
      const signal = AbortSignal.timeout(30_000);
      const headers = dice.below(3) === 0 ? { Range: `bytes=${dice.below(9)}-${dice.below(9)}` } : {};
      const statuses = await Promise.all([
        download(agent, path, { headers, signal }).then(async (response) => {
          await response.body?.cancel();
          return response.status;
        }),
        unary(agent, "filesystem.Filesystem/Stat", { path }, { signal }).then((r) => r.status),
        unary(agent, "filesystem.Filesystem/ListDir", { path, depth: dice.below(3) }, { signal }).then((r) => r.status),
        unary(agent, "filesystem.Filesystem/CreateWatcher", { path }, { signal }).then(async (r) => {
          if (r.status === 200) await unary(agent, "filesystem.Filesystem/RemoveWatcher", r.body);
          return r.status;
        }),
        postCompose(agent, { source_paths: ["/home/user/maze/no-such", path], destination: mazePath(dice) }, { signal }).then(
          (r) => r.status,
        ),
      ]);
      expect([seed, path, statuses.filter((status) => ![200, 206, 400, 403, 404, 416].includes(status))]).toEqual([seed, path, []]);
    });
  });

  test("changing RPCs in the maze, and out of it to another file system, leave what lies outside alone", async () => {
    // With names and a link that are no text; paths can't spell them, trees hold them.
    const odd = `cd d && mkdir -p $(printf 'n\\377')/o && echo x > $(printf 'n\\377')/o/$(printf '\\376') && ln -s $(printf 'n\\377') $(printf 'l\\377') && cd ..`;
    await rounds(async (dice, seed) => {
      await asRoot(agent, `${MAZE}; ${odd}; rm -rf /home/small/*; mkdir -p /home/elsewhere/keep && echo gold > /home/elsewhere/keep/gold`);
      for (let i = 0; i < 30; i++) {
        // `out` leads there by request; every other name must not.
        const [path, other] = [mazePath(dice), dice.below(4) === 0 ? `/home/small/${i}/x` : mazePath(dice)].map((p) =>
          p.replaceAll("out", "in").replaceAll("up", "e").replaceAll("made", "f"),
        );
        const [method, message] = dice.pick([
          ["Remove", { path }],
          ["MakeDir", { path }],
          ["Move", { source: path, destination: other }],
        ] as const);
        const { status } = await unary(agent, `filesystem.Filesystem/${method}`, message);
        expect([seed, method, path, other, [200, 400, 403, 404, 409].includes(status)]).toEqual([seed, method, path, other, true]);
        if ((await unary(agent, "filesystem.Filesystem/Stat", { path: "/home/user/maze" })).status !== 200) break;
      }
      expect(await asRoot(agent, "cat /home/elsewhere/keep/gold; find /home/elsewhere | sort | tr '\\n' ' '")).toBe(
        "gold\n/home/elsewhere /home/elsewhere/keep /home/elsewhere/keep/gold /home/elsewhere/o ",
      );
    });
  });

  test("uploads, changing RPCs, WatchDir and commands answer whatever the path, and nothing outside is written", async () => {
    // Nothing here may do harm where it works: the suite shares /proc and /dev with the machine.
    const odd = [
      "\0",
      "maze/a\0b",
      "maze/\ud800",
      "/".repeat(5000),
      "n".repeat(4090),
      `/home/user/maze/${"a/".repeat(1900)}`,
      `/home/user/maze/${"a/".repeat(3000)}`,
      "~root",
      "~root/x",
      "~/maze/f",
      "maze/n\ufffd",
      "/proc/self/environ",
      "/proc/self/fd/x",
      "/proc/self/none/x/y",
      "/proc/1/mem",
      "/proc/kmsg",
      "/proc/self/root/home/user/maze/f",
      "/proc/self/cwd/home/user/maze/new/x",
      "/dev/null/x",
      "/sys/kernel/notes",
      "/home/user/maze/fifo",
      "/home/user/maze/fifo/x",
      "/home/user/maze/dev",
    ];
    await rounds(async (dice, seed) => {
      await asRoot(agent, `${MAZE}; touch /home/.stamp; sleep 0.02`);
      for (let i = 0; i < 12; i++) {
        const path = dice.pick(odd);
        const other = dice.pick([...odd, "maze/d/moved", "/home/small/moved"]);
        // A request that is never answered ends here.
        const signal = AbortSignal.timeout(30_000);
        const rpc = (method: string, message: unknown) =>
          unary(agent, `filesystem.Filesystem/${method}`, message, { signal }).then(({ status }) => status);
        const statuses = [
          (await put(agent, path, "x", { signal })).status,
          await rpc("MakeDir", { path }),
          await rpc("Move", { source: path, destination: other }),
          await rpc("Move", { source: "maze/f", destination: path }),
          await rpc("Remove", { path }),
          await watchOnce(path, dice.below(2) === 0, signal),
          await runIn(path, signal),
        ];
        expect([seed, path, other, statuses.filter((status) => ![200, 400, 403, 404, 409].includes(status))]).toEqual([
          seed,
          path,
          other,
          [],
        ]);
      }
      expect([
        seed,
        await asRoot(agent, "find /home /etc -newer /home/.stamp -type f ! -path '/home/user/maze/*' ! -path '/home/small/moved*'"),
      ]).toEqual([seed, ""]);
    });
    await asRoot(agent, "rm -rf /home/small/*");
  });
});

/** Begins to watch, and leaves after the first message. */
async function watchOnce(path: string, recursive: boolean, signal: AbortSignal): Promise<number> {
  const watch = await stream(agent, "filesystem.Filesystem/WatchDir", { path, recursive }, { signal });
  await watch.envelopes.next();
  watch.leave();
  return watch.status;
}

/** Runs a command in a directory, to its end or to the error that says that there is none. */
async function runIn(cwd: string, signal: AbortSignal): Promise<number> {
  const started = await start(agent, { process: { cmd: "/bin/true", cwd } }, { signal });
  const { end, error } = await collect(started);
  return end !== undefined || error !== undefined ? started.status : 0;
}

describe("bodies", () => {
  const valid = (dice: Dice) =>
    `--bnd\r\nContent-Disposition: form-data; name="file"; filename="fuzz/${dice.below(5)}"\r\nContent-Type: text/plain\r\n\r\n${"data ".repeat(dice.below(50))}\r\n`;

  const post = (body: Buffer<ArrayBuffer>, headers: Record<string, string>) =>
    fetch(`${agent.baseUrl}/files`, { method: "POST", headers: { ...authorised(agent), ...headers }, body });

  test("multipart: 200, 400 or 404, and no file but those that are named", async () => {
    const files = async () => (await asRoot(agent, "find /home -type f -print0")).split("\0").filter(Boolean);
    // Nothing that earlier tests made can have the name of a part.
    await asRoot(agent, "find /home/user -mindepth 1 -delete");
    const old = new Set(await files());
    const named = new Set<string>();
    await rounds(async (dice, seed) => {
      const body = mutate(dice, `${Array.from({ length: 1 + dice.below(4) }, () => valid(dice)).join("")}--bnd--\r\n`);
      const type =
        dice.below(20) === 0
          ? mutate(dice, "multipart/form-data; boundary=bnd")
              .toString("latin1")
              .replace(/[^\x20-\x7e]/g, "")
          : "multipart/form-data; boundary=bnd";
      const response = await post(body, { "Content-Type": type });
      expect([seed, [200, 400, 404].includes(response.status)]).toEqual([seed, true]);
      if (response.status === 200) for (const { path } of (await response.json()) as { path: string }[]) named.add(path);
    });
    const written = new Set((await files()).filter((path) => !old.has(path)));
    expect(written).toEqual(named);
    expect(named.has("/home/user/fuzz/0")).toBe(true);
  });

  test("gzip: mutated streams are 200, 400 or 404", async () => {
    await rounds(async (dice, seed) => {
      const zipped = mutate(dice, gzipSync(`${valid(dice)}--bnd--`).toString("latin1"));
      const response = await post(zipped, { "Content-Type": "multipart/form-data; boundary=bnd", "Content-Encoding": "gzip" });
      expect([seed, [200, 400, 404].includes(response.status)]).toEqual([seed, true]);
    });
  });

  test("bombs: a thousand times their size ends at the disk's limit with little memory", async () => {
    // Three of them, and each alone, would take more memory than the agent may grow by.
    const bomb = gzipSync(new Uint8Array(192 * 1024 * 1024)) as Buffer<ArrayBuffer>;
    const nested = gzipSync(gzipSync(new Uint8Array(64 * 1024 * 1024))) as Buffer<ArrayBuffer>;
    const headers = { "Content-Encoding": "gzip" };
    const memory = () => asRoot(agent, `${AGENT_PID}; awk '/RssAnon/{print $2}' /proc/$pid/status`).then(Number);
    const idle = await memory();
    const results = await Promise.all([1, 2, 3].map((i) => put(agent, `/home/small/bomb${i}`, bomb, { headers })));
    expect(results.map((response) => response.status)).toEqual([507, 507, 507]);
    expect((await put(agent, "/home/small/nested", nested, { headers })).status).toBe(200);
    expect((await memory()) - idle).toBeLessThan(128 * 1024);
    expect(await asRoot(agent, "rm /home/small/nested; ls -A /home/small")).toBe("");
  });

  test("compose: any JSON is 400, 401 or 404", async () => {
    // Of its own: what writes to odd paths may have put a file in the place of the other.
    await asRoot(agent, "mkfifo -m 666 /home/user/fifo-of-compose");
    const values = [
      null,
      1,
      "x",
      "",
      [],
      {},
      ["x"],
      [["x"]],
      { a: 1 },
      true,
      "~x",
      "\0",
      ["/home/user/fifo-of-compose"],
      "/",
      ["/dev/zero"],
      "[".repeat(20_000),
    ];
    await rounds(async (dice, seed) => {
      const body = { source_paths: dice.pick(values), destination: dice.pick(values), username: dice.pick([...values, undefined]) };
      const text = dice.below(4) === 0 ? mutate(dice, JSON.stringify(body)).toString("latin1") : JSON.stringify(body);
      const { status } = await postCompose(agent, text);
      expect([seed, [400, 401, 404].includes(status)]).toEqual([seed, true]);
    });
    expect((await postCompose(agent, "[".repeat(1_000_000))).status).toBe(400);
    expect((await postCompose(agent, `{"source_paths":["${"x".repeat(17 * 1024 * 1024)}"],"destination":"x"}`)).status).toBe(400);
  });
});

test("signatures: none that was not made with the token passes", async () => {
  const letters = "v1_ABCabc+/=%:. \u00e9";
  await rounds(async (dice, seed) => {
    const signature = `${dice.below(2) ? "v1_" : ""}${Array.from({ length: dice.below(60) }, () => letters[dice.below(letters.length)]).join("")}`;
    const query = {
      signature,
      ...(dice.below(2) ? { signature_expiration: String(dice.below(2 ** 31)) } : {}),
      ...(dice.below(2) ? { username: "user" } : {}),
    };
    const response = await download(agent, dice.pick(["/etc/passwd", "x", "", ":", "a:read:user"]), { query, authorised: false });
    expect([seed, signature, response.status]).toEqual([seed, signature, 401]);
  });
});
