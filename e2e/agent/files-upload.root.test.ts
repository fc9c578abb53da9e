import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent, testAlone } from "./support/agent-under-test.ts";
import { answer, asRoot, content, download, expectError, openFiles, put, putForm } from "./support/files.ts";
import { unary } from "./support/rpc.ts";

setDefaultTimeout(30_000);

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent({
    prepareAlone:
      "mkdir /home/small && mount -t tmpfs -o size=2M,nr_inodes=20 tmpfs /home/small && chmod 777 /home/small && touch /home/mounted && mount --bind /home/mounted /home/mounted",
  });
});
afterAll(() => agent.stop());

const file = (path: string, more: object = {}) => ({ path, name: path.slice(path.lastIndexOf("/") + 1), type: "file", ...more });
const stat = (path: string) => asRoot(agent, `stat -c '%U:%G %a %s' '${path}'`);
const leftovers = (directory: string) => asRoot(agent, `find ${directory} -name '.boxyard-*' | wc -l`);

/** A multipart body by hand. */
function putRaw(body: string | Uint8Array<ArrayBuffer>, boundary = "b", query = ""): Promise<Response> {
  const headers = { ...authorised(agent), "Content-Type": `multipart/form-data; boundary=${boundary}` };
  return fetch(`${agent.baseUrl}/files${query}`, { method: "POST", headers, body });
}

const part = (disposition: string, text: string, boundary = "b") =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${text}\r\n`;

describe("application/octet-stream", () => {
  test("body = file content; answers the entries", async () => {
    expect(await answer(await put(agent, "raw.txt", "some bytes"))).toEqual({ status: 200, body: [file("/home/user/raw.txt")] });
    expect(await content(agent, "raw.txt")).toBe("some bytes");
  });

  test("path query required", async () => {
    await expectError(await put(agent, undefined, "x"), 400, "path query parameter is required for raw body upload");
  });

  test("a chunked body, an empty body and every byte value arrive as sent", async () => {
    const chunks = new ReadableStream({
      async start(controller) {
        for (const text of ["one ", "two ", "three"]) {
          controller.enqueue(new TextEncoder().encode(text));
          await Bun.sleep(5);
        }
        controller.close();
      },
    });
    expect((await put(agent, "chunked", chunks)).status).toBe(200);
    expect(await content(agent, "chunked")).toBe("one two three");
    expect((await put(agent, "nothing", "")).status).toBe(200);
    expect(await stat("/home/user/nothing")).toBe("user:user 644 0");
    const all = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256);
    expect((await put(agent, "all", all)).status).toBe(200);
    expect(new Uint8Array(await (await download(agent, "all")).arrayBuffer())).toEqual(all);
  });

  test("Content-Encoding gzip is undone, also in several members; broken gzip and other codings are 400", async () => {
    const upload = (body: Uint8Array<ArrayBuffer>, coding = "gzip") =>
      put(agent, "unzipped", body, { headers: { "Content-Encoding": coding } });
    const zip = (text: string) => new Uint8Array(gzipSync(text));
    expect((await upload(zip("zipped"))).status).toBe(200);
    expect(await content(agent, "unzipped")).toBe("zipped");
    expect((await upload(new Uint8Array([...zip("first "), ...zip("second")]))).status).toBe(200);
    expect(await content(agent, "unzipped")).toBe("first second");
    for (const body of [zip("x".repeat(9000)).slice(0, -9), new TextEncoder().encode("not gzip at all")]) {
      await expectError(await upload(body), 400, /^error decompressing request body/);
    }
    await expectError(await upload(zip("x"), "br"), 400, /^error decompressing request body/);
    expect((await put(agent, "unzipped", "as it is", { headers: { "Content-Encoding": "identity" } })).status).toBe(200);
    expect(await content(agent, "unzipped")).toBe("as it is");
  });

  test("other content types are 400", async () => {
    for (const type of ["text/plain", "application/json", ""]) {
      await expectError(
        await put(agent, "typed", "x", { headers: { "Content-Type": type } }),
        400,
        /^unsupported content type: .*expected multipart\/form-data or application\/octet-stream$/,
      );
    }
  });
});

describe("multipart/form-data", () => {
  test("every part named file is a file, others are ignored; the filename is a path; answered in order", async () => {
    const body = `${part('name="file"; filename="m/one.txt"', "1")}${part('name="other"; filename="no.txt"', "x")}${part('name="file"; filename="/home/user/m/two.txt"', "2")}--b--\r\n`;
    expect(await answer(await putRaw(body))).toEqual({ status: 200, body: [file("/home/user/m/one.txt"), file("/home/user/m/two.txt")] });
    expect([await content(agent, "m/one.txt"), await content(agent, "m/two.txt")]).toEqual(["1", "2"]);
    await expectError(await download(agent, "no.txt"), 404, "path '/home/user/no.txt' does not exist");
  });

  test("target is the path query if present", async () => {
    expect(await answer(await putForm(agent, [["ignored.txt", "text"]], { query: { path: "asked.txt" } }))).toEqual({
      status: 200,
      body: [file("/home/user/asked.txt")],
    });
    expect(await content(agent, "asked.txt")).toBe("text");
  });

  test("zero file parts: 200 []", async () => {
    expect(await answer(await putRaw(`${part('name="x"', "y")}--b--\r\n`))).toEqual({ status: 200, body: [] });
    expect(await answer(await putRaw("--b--\r\n"))).toEqual({ status: 200, body: [] });
  });

  test("two parts resolving to the same path: 400, and neither is written", async () => {
    await asRoot(agent, "cd /home/user && mkdir -p same && ln -s same same-link && chown -h user same*");
    for (const second of ["same/x", "./same/x", "/home/user/same/x", "same-link/x", "m/../same/x"]) {
      await expectError(
        await putForm(agent, [
          ["same/x", "1"],
          [second, "2"],
        ]),
        400,
        /^you cannot upload multiple files to the same path/,
      );
    }
    expect(await asRoot(agent, "ls -A /home/user/same")).toBe("");
    await expectError(
      await putForm(
        agent,
        [
          ["p", "1"],
          ["q", "2"],
        ],
        { query: { path: "both" } },
      ),
      400,
      /same path/,
    );
  });

  test("names as clients write them: quotes, backslashes, UTF-8, filename*", async () => {
    const names: [string, string][] = [
      ['filename="a \\"b\\".txt"', 'a "b".txt'],
      ['filename="c\\\\d.txt"', "c\\d.txt"],
      ['filename="dir\\file.txt"', "dir\\file.txt"],
      ['filename="ünï.txt"', "ünï.txt"],
      ["filename*=UTF-8''%E2%82%AC%20rates", "€ rates"],
      ["filename=bare.txt", "bare.txt"],
      ['filename="form %22quoted%22 100%25.txt"', 'form "quoted" 100%25.txt'],
    ];
    for (const [disposition, name] of names) {
      expect(await answer(await putRaw(`${part(`name="file"; ${disposition}`, "n")}--b--`))).toEqual({
        status: 200,
        body: [file(`/home/user/${name}`)],
      });
    }
  });

  test("content may look like a boundary and may come in any pieces", async () => {
    const tricky = "\r\n--\r\n-b\r\n--c--\r--b\n--b\r\n\r\n--";
    const body = new TextEncoder().encode(`preamble\r\n${part('name="file"; filename="tricky"', tricky)}--b--\r\nepilogue`);
    for (const size of [1, 2, 3, 7, 64]) {
      const pieces = new ReadableStream({
        async pull(controller) {
          for (let at = 0; at < body.length; at += size) controller.enqueue(body.slice(at, at + size));
          controller.close();
        },
      });
      const headers = { ...authorised(agent), "Content-Type": 'multipart/form-data; boundary="b"' };
      expect((await fetch(`${agent.baseUrl}/files`, { method: "POST", headers, body: pieces })).status).toBe(200);
      expect(await content(agent, "tricky")).toBe(tricky);
    }
  });

  test("Content-Encoding gzip on a form", async () => {
    const body = new Uint8Array(gzipSync(`${part('name="file"; filename="form-zip"', "unzipped")}--b--\r\n`));
    const headers = { ...authorised(agent), "Content-Type": "multipart/form-data; boundary=b", "Content-Encoding": "gzip" };
    expect((await fetch(`${agent.baseUrl}/files`, { method: "POST", headers, body })).status).toBe(200);
    expect(await content(agent, "form-zip")).toBe("unzipped");
  });

  test("a broken body is 400 and leaves nothing", async () => {
    const good = part('name="file"; filename="broken/x"', "content");
    const bodies = [
      "",
      "no boundary at all",
      good,
      `${good}--b`,
      `${good}--b-`,
      `${good}--b junk\r\n`,
      `--b\r\nno colon here\r\n\r\nx\r\n--b--`,
      `--b\r\nContent-Disposition: form-data; name="file"; filename="broken/x"\r\n`,
      `--b\r\nX: ${"y".repeat(20_000)}\r\n\r\n--b--`,
    ];
    for (const body of bodies) await expectError(await putRaw(body), 400, /^error parsing multipart form: /);
    const nameless = `${part('name="file"', "no filename")}--b--`;
    await expectError(await putRaw(nameless), 400, "a file part has no filename and the query has no path");
    await expectError(await putRaw("x", ""), 400, /boundary/);
    await expectError(await putRaw("x", "y".repeat(71)), 400, /boundary/);
    await expectError(await download(agent, "broken"), 404, "path '/home/user/broken' does not exist");
  });
});

describe("where and how it is written", () => {
  test("missing parent dirs created 0755 owned by the user, the file 0644 owned by the user", async () => {
    expect((await put(agent, "new/deep/er/file", "x")).status).toBe(200);
    expect([
      await stat("/home/user/new/deep/er/file"),
      await asRoot(agent, "stat -c '%U:%G %a' /home/user/new /home/user/new/deep"),
    ]).toEqual(["user:user 644 1", "user:user 755\nuser:user 755"]);
  });

  test("an existing file: truncated, its mode kept, owner is the user", async () => {
    await asRoot(agent, "printf 'long old content' > /home/user/old && chmod 751 /home/user/old");
    expect((await put(agent, "old", "new")).status).toBe(200);
    expect([await stat("/home/user/old"), await content(agent, "old")]).toEqual(["user:user 751 3", "new"]);
  });

  test("as the user of the query", async () => {
    expect((await put(agent, "mine", "x", { query: { username: "other" } })).status).toBe(200);
    expect(await stat("/home/other/mine")).toBe("other:other 644 1");
    expect((await put(agent, "/home/user/roots", "x", { query: { username: "root" } })).status).toBe(200);
    expect(await stat("/home/user/roots")).toBe("root:root 644 1");
  });

  test("set-user-id does not outlive new content", async () => {
    await asRoot(agent, "touch /home/user/suid && chmod 4755 /home/user/suid");
    await put(agent, "/home/user/suid", "x", { query: { username: "root" } });
    expect(await stat("/home/user/suid")).toBe("root:root 755 1");
  });

  test("a directory as target is 400", async () => {
    await expectError(await put(agent, "new", "x"), 400, "path is a directory: /home/user/new");
    await expectError(await put(agent, "/home/user/no/", "x"), 400, "path is a directory: /home/user/no/");
    await expectError(await put(agent, "new/..", "x"), 400, /^path is a directory/);
    await expectError(await put(agent, "/", "x"), 400, "path is a directory: /");
  });

  test("a file among the parents is 400", async () => {
    await expectError(await put(agent, "old/below", "x"), 400, /not a directory/);
  });

  test("through a link the target is written and the link stays; a dangling one gets its target", async () => {
    await asRoot(
      agent,
      "cd /home/user && printf a > real && chmod 600 real && ln -s real via && ln -s made-by-link dangling && ln -s /no/where/at-all nowhere && ln -s loop loop",
    );
    expect((await put(agent, "via", "through")).status).toBe(200);
    expect([await asRoot(agent, "readlink /home/user/via"), await content(agent, "real"), await stat("/home/user/real")]).toEqual([
      "real",
      "through",
      "user:user 600 7",
    ]);
    expect((await put(agent, "dangling", "new")).status).toBe(200);
    expect(await content(agent, "made-by-link")).toBe("new");
    await expectError(await put(agent, "nowhere", "x"), 400, /link/);
    await expectError(await put(agent, "loop", "x"), 400, /too many symbolic links/);
    expect(await asRoot(agent, "ls -d /no 2>&1 || true")).toContain("No such file");
  });

  testAlone("FIFOs and devices are 400 at once and not touched", async () => {
    await asRoot(agent, "cd /home/user && mkfifo pipe && mknod null c 1 3");
    await expectError(await put(agent, "pipe", "x"), 400, /is not a regular file/);
    await expectError(await put(agent, "null", "x"), 400, /is not a regular file/);
    expect(await asRoot(agent, "stat -c %F /home/user/pipe /home/user/null")).toBe("fifo\ncharacter special file");
  });

  testAlone("a file that is a mount point is written in place", async () => {
    expect((await put(agent, "/home/mounted", "over it", { query: { username: "root" } })).status).toBe(200);
    expect([
      await content(agent, "/home/mounted"),
      await asRoot(agent, "mountpoint -q /home/mounted && ls -A /home | grep -c boxyard || true"),
    ]).toEqual(["over it", "0"]);
  });

  testAlone("files of /proc/sys can be written", async () => {
    const before = await content(agent, "/proc/sys/kernel/hostname");
    expect((await put(agent, "/proc/sys/kernel/hostname", before, { query: { username: "root" } })).status).toBe(200);
    expect(await content(agent, "/proc/sys/kernel/hostname")).toBe(before);
    await expectError(await put(agent, "/proc/no-such-file", "x"), 404, /./);
  });

  test("a reader of the old file sees the old content to its end", async () => {
    await put(agent, "read-me", "old old old");
    const script = "exec 3< /home/user/read-me; touch /tmp/by-open; while [ ! -e /tmp/by-go ]; do sleep 0.01; done; cat <&3";
    const reader = asRoot(agent, script);
    await asRoot(agent, "while [ ! -e /tmp/by-open ]; do sleep 0.01; done");
    expect((await put(agent, "read-me", "new")).status).toBe(200);
    await asRoot(agent, "touch /tmp/by-go");
    expect(await reader).toBe("old old old");
    await asRoot(agent, "rm /tmp/by-open /tmp/by-go");
  });
});

describe("nothing half-done", () => {
  test("an upload whose sender leaves changes nothing", async () => {
    await put(agent, "kept", "before");
    const leaving = new AbortController();
    const endless = new ReadableStream({
      async pull(controller) {
        controller.enqueue(new Uint8Array(64 * 1024));
        await Bun.sleep(1);
      },
    });
    const upload = put(agent, "kept", endless, { signal: leaving.signal });
    const inNewDir = put(agent, "never/made", slow(), { signal: leaving.signal });
    // Time alone: both uploads are under way, and how far does not matter.
    await Bun.sleep(150);
    leaving.abort();
    expect((await Promise.allSettled([upload, inNewDir])).map((outcome) => outcome.status)).toEqual(["rejected", "rejected"]);
    for (let i = 0; i < 100 && (await leftovers("/home/user")) !== "0"; i++) await Bun.sleep(20);
    expect([
      await content(agent, "kept"),
      await leftovers("/home/user"),
      await asRoot(agent, "ls -d /home/user/never 2>/dev/null || true"),
    ]).toEqual(["before", "0", ""]);
  });

  testAlone("disk full: 507, the old file intact, nothing left", async () => {
    await put(agent, "/home/small/f", "before");
    const big = new Uint8Array(4 * 1024 * 1024);
    await expectError(await put(agent, "/home/small/f", big), 507, /not enough disk space available/);
    await expectError(await put(agent, "/home/small/g", new Blob([big]).stream()), 507, /not enough disk space available/);
    await expectError(await putForm(agent, [["/home/small/h", "x".repeat(big.length)]]), 507, /not enough disk space available/);
    const bomb = new Uint8Array(gzipSync(new Uint8Array(64 * 1024 * 1024)));
    await expectError(
      await put(agent, "/home/small/i", bomb, { headers: { "Content-Encoding": "gzip" } }),
      507,
      /not enough disk space available/,
    );
    expect([await content(agent, "/home/small/f"), await asRoot(agent, "ls -A /home/small")]).toEqual(["before", "f"]);
  });

  testAlone("no inode left: 507", async () => {
    await asRoot(agent, "cd /home/small && for i in $(seq 1 30); do touch i$i 2>/dev/null; done; true");
    await expectError(await put(agent, "/home/small/one-more", "x"), 507, /not enough disk space available/);
    await asRoot(agent, "rm /home/small/i*");
  });

  test("several files are put in place together or not at all", async () => {
    await put(agent, "set/one", "before");
    await expectError(
      await putForm(agent, [
        ["set/one", "after"],
        ["set/two", "new"],
        ["new", "a directory"],
      ]),
      400,
      /directory/,
    );
    expect([await content(agent, "set/one"), await asRoot(agent, "ls -A /home/user/set")]).toEqual(["before", "one"]);
  });

  test("a path whose parent is exchanged for a link meanwhile leads nowhere else", async () => {
    await asRoot(agent, "mkdir -p /home/user/swap && chown user /home/user/swap && mkdir -p /home/target");
    const gate = Promise.withResolvers<void>();
    const body = new ReadableStream({
      async pull(controller) {
        controller.enqueue(new TextEncoder().encode("x"));
        await gate.promise;
        controller.close();
      },
    });
    const upload = put(agent, "swap/file", body);
    for (let i = 0; i < 200 && (await leftovers("/home/user/swap")) === "0"; i++) await Bun.sleep(5);
    await asRoot(agent, "cd /home/user && mv swap swapped && ln -s /home/target swap");
    gate.resolve();
    expect((await upload).status).toBe(200);
    expect([await asRoot(agent, "ls -A /home/target"), await asRoot(agent, "cat /home/user/swapped/file")]).toEqual(["", "x"]);
  });

  test("no file and no directory stays open", async () => {
    const before = await openFiles(agent);
    for (let i = 0; i < 30; i++) {
      await Promise.all([
        put(agent, `fd/${i}`, "x"),
        putRaw("broken"),
        put(agent, "new", "x"),
        download(agent, "old"),
        download(agent, "nope"),
        putForm(agent, [
          ["fd/a", "1"],
          ["fd/b", "2"],
        ]),
      ]);
    }
    for (let i = 0; i < 50 && (await openFiles(agent)) > before; i++) await Bun.sleep(20);
    expect(await openFiles(agent)).toBeLessThanOrEqual(before);
  });
});

function slow(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      controller.enqueue(new Uint8Array(1024));
      await Bun.sleep(1);
    },
  });
}

describe("metadata", () => {
  const upload = (path: string, headers: Record<string, string>) => put(agent, path, "x", { headers });
  const attributes = (path: string) =>
    asRoot(agent, `python3 -c 'import os;print(sorted((n, os.getxattr("${path}", n).decode()) for n in os.listxattr("${path}")))'`);

  test("X-Metadata-<key> is stored as user.e2b.<key>, key lower-cased, and answered", async () => {
    expect(await answer(await upload("meta", { "X-Metadata-Author": "Ann B", "x-metadata-n": "1" }))).toEqual({
      status: 200,
      body: [file("/home/user/meta", { metadata: { author: "Ann B", n: "1" } })],
    });
    expect(await attributes("/home/user/meta")).toBe("[('user.e2b.author', 'Ann B'), ('user.e2b.n', '1')]");
  });

  test("a value of any length comes back, also one of the size of a large access list", async () => {
    const values = [107, 108, 109, 115, 116, 117, 172, 1_004].map((length) => "v".repeat(length));
    for (const value of values) {
      expect((await upload("meta-sized", { "X-Metadata-K": value })).status).toBe(200);
      const { body } = await unary(agent, "filesystem.Filesystem/Stat", { path: "/home/user/meta-sized" });
      expect(body).toMatchObject({ entry: { metadata: { k: value } } });
    }
  });

  test("an upload replaces the whole set; without headers it is cleared; others' attributes stay", async () => {
    await asRoot(agent, `python3 -c 'import os;os.setxattr("/home/user/meta", "user.mine", b"kept")'`);
    await upload("meta", { "X-Metadata-Only": "this" });
    expect(await attributes("/home/user/meta")).toBe("[('user.e2b.only', 'this'), ('user.mine', 'kept')]");
    expect(await answer(await upload("meta", {}))).toEqual({ status: 200, body: [file("/home/user/meta")] });
    expect(await attributes("/home/user/meta")).toBe("[('user.mine', 'kept')]");
  });

  test("applies to every file of the request", async () => {
    const response = await putForm(
      agent,
      [
        ["ma", "1"],
        ["mb", "2"],
      ],
      { headers: { "X-Metadata-K": "v" } },
    );
    expect(((await response.json()) as { metadata: object }[]).map((entry) => entry.metadata)).toEqual([{ k: "v" }, { k: "v" }]);
  });

  test("limits: key of 246 bytes, 4096 bytes in all counting 9 for each, printable ASCII; else 400", async () => {
    expect((await upload("limits", { [`X-Metadata-${"k".repeat(246)}`]: "v" })).status).toBe(200);
    await expectError(await upload("limits", { [`X-Metadata-${"k".repeat(247)}`]: "v" }), 400, /^invalid metadata: /);
    expect((await upload("limits", { "X-Metadata-K": "v".repeat(4096 - 10) })).status).toBe(200);
    await expectError(await upload("limits", { "X-Metadata-K": "v".repeat(4096 - 9) }), 400, /^invalid metadata: /);
    await expectError(await upload("limits", { "X-Metadata-K": "v\u00e9" }), 400, /^invalid metadata: /);
    await expectError(await upload("limits", { "X-Metadata-": "v" }), 400, /^invalid metadata: /);
    expect((await upload("limits", { "X-Metadata-K": "" })).status).toBe(200);
  });

  testAlone("where the file system has no attributes they are ignored", async () => {
    const response = await put(agent, "/proc/sys/kernel/hostname", await content(agent, "/proc/sys/kernel/hostname"), {
      headers: { "X-Metadata-K": "v" },
      query: { username: "root" },
    });
    expect(response.status).toBe(200);
  });
});

describe("order of checks (docs/contract/agent.md)", () => {
  test("coding before user before metadata before content type", async () => {
    const bad = { "Content-Encoding": "br", "X-Metadata-": "x", "Content-Type": "text/plain" };
    const query = { username: "nobody-here" };
    await expectError(await put(agent, "x", "x", { headers: bad, query }), 400, /decompressing/);
    await expectError(await put(agent, "x", "x", { headers: { ...bad, "Content-Encoding": "gzip" }, query }), 401, /looking up user/);
    await expectError(await put(agent, "x", "x", { headers: { ...bad, "Content-Encoding": "gzip" } }), 400, /metadata/);
    await expectError(await put(agent, "x", "x", { headers: { "Content-Type": "text/plain" } }), 400, /content type/);
  });
});
