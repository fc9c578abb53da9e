import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { initialise, startAgent } from "./support/agent-under-test.ts";
import { asRoot, content, download, expectError, postCompose, put } from "./support/files.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
  await asRoot(
    agent,
    `cd /home/user && printf '${LETTERS}' > letters.txt && : > empty && mkdir directory && ln -s letters.txt link && ln -s loop-b loop-a && ln -s loop-a loop-b && mkfifo fifo
     printf 'plain words' > notes && printf '\\x89PNG\\r\\n\\x1a\\n....' > picture && printf '\\0\\1\\2' > bytes && printf x > 'two words.txt' && printf x > 'ü.txt' && chown -h user:user *`,
  );
});
afterAll(() => agent.stop());

const letters = (headers: Record<string, string>) => download(agent, "letters.txt", { headers });

describe("GET /files", () => {
  test("200 raw bytes with Content-Length, Vary, Content-Disposition, Content-Type, ETag, Last-Modified", async () => {
    const response = await letters({});
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(LETTERS);
    const header = (name: string) => response.headers.get(name);
    expect([header("Content-Length"), header("Vary"), header("Content-Disposition"), header("Accept-Ranges")]).toEqual([
      "26",
      "Accept-Encoding",
      "inline; filename=letters.txt",
      "bytes",
    ]);
    expect(header("Content-Type")).toMatch(/^text\/plain; ?charset=utf-8$/);
    expect(header("ETag")).toMatch(/^"[0-9a-f-]+"$/);
    expect(Date.parse(header("Last-Modified") ?? "")).toBeGreaterThan(0);
  });

  test("an empty file must send Content-Length: 0", async () => {
    const response = await download(agent, "empty");
    expect([response.status, response.headers.get("Content-Length"), await response.text()]).toEqual([200, "0", ""]);
  });

  test("an empty file has its length even for a client that asks for gzip, and is gzip only where nothing else is taken", async () => {
    const plain = await download(agent, "empty", { headers: { "Accept-Encoding": "gzip" } });
    expect([plain.status, plain.headers.get("Content-Length"), plain.headers.get("Content-Encoding")]).toEqual([200, "0", null]);
    const only = await download(agent, "empty", { headers: { "Accept-Encoding": "gzip, identity;q=0" } });
    expect([only.headers.get("Content-Encoding"), gunzipSync(new Uint8Array(await only.arrayBuffer())).length]).toEqual(["gzip", 0]);
  });

  test("404 path '<abs>' does not exist", async () => {
    await expectError(await download(agent, "/no/such"), 404, "path '/no/such' does not exist");
    await expectError(await download(agent, "nope"), 404, "path '/home/user/nope' does not exist");
    await expectError(await download(agent, "letters.txt/below"), 404, "path '/home/user/letters.txt/below' does not exist");
  });

  test("400 path '<abs>' is a directory", async () => {
    await expectError(await download(agent, "directory"), 400, "path '/home/user/directory' is a directory");
  });

  test("400 for a loop of links", async () => {
    await expectError(await download(agent, "loop-a"), 400, /too many symbolic links/);
  });

  test("Content-Type by extension, else by the first bytes", async () => {
    const type = async (path: string) => (await download(agent, path)).headers.get("Content-Type")?.replace(" ", "");
    expect([await type("notes"), await type("picture"), await type("bytes")]).toEqual([
      "text/plain;charset=utf-8",
      "image/png",
      "application/octet-stream",
    ]);
  });

  test("Content-Disposition quotes blanks and has the RFC 2231 form for other than ASCII", async () => {
    expect((await download(agent, "two words.txt")).headers.get("Content-Disposition")).toBe('inline; filename="two words.txt"');
    expect((await download(agent, "ü.txt")).headers.get("Content-Disposition")).toBe("inline; filename*=utf-8''%C3%BC.txt");
  });

  test("a link is followed", async () => {
    expect(await content(agent, "link")).toBe(LETTERS);
  });

  test("files of /proc, which say they are empty, give their content", async () => {
    expect(await content(agent, "/proc/sys/kernel/ostype")).toBe("Linux\n");
    expect(await content(agent, "/proc/1/status")).toContain("Pid:\t1\n");
  });

  test("a FIFO and a device are 400 at once and block nothing", async () => {
    await expectError(await download(agent, "fifo"), 400, /is not a regular file/);
    await expectError(await download(agent, "/dev/zero"), 400, /is not a regular file/);
    expect((await fetch(`${agent.baseUrl}/health`)).status).toBe(204);
  });

  test("HEAD answers the same without a body", async () => {
    const response = await download(agent, "letters.txt", {}, "HEAD");
    expect([response.status, response.headers.get("Content-Length"), await response.text()]).toEqual([200, "26", ""]);
  });
});

describe("path resolution (docs/contract/agent.md, Paths)", () => {
  test("empty path is the default workdir or the home, here a directory", async () => {
    await expectError(await download(agent, ""), 400, "path '/home/user' is a directory");
    await expectError(await download(agent, undefined), 400, "path '/home/user' is a directory");
  });

  test("~ and ~/x are the home of the acting user, ~other is 400", async () => {
    expect(await content(agent, "~/letters.txt")).toBe(LETTERS);
    await expectError(await download(agent, "~"), 400, "path '/home/user' is a directory");
    await expectError(await download(agent, "~root/x"), 400, /cannot expand/);
  });

  test("absolute is used as it is, relative is joined to the home of the acting user", async () => {
    expect(await content(agent, "/home/user/./directory/../letters.txt")).toBe(LETTERS);
    expect(await content(agent, "../user/letters.txt")).toBe(LETTERS);
    await expectError(
      await download(agent, "letters.txt", { query: { username: "other" } }),
      404,
      "path '/home/other/letters.txt' does not exist",
    );
    expect(await content(agent, "../user/letters.txt", { query: { username: "other" } })).toBe(LETTERS);
  });

  test("NUL, more than 4095 bytes and a name of more than 255 bytes are 400", async () => {
    await expectError(await download(agent, "a\0b"), 400, /NUL/);
    await expectError(await download(agent, `/${"a/".repeat(2100)}`), 400, /longer than 4095/);
    await expectError(await download(agent, "n".repeat(256)), 400, /name too long/);
  });

  test("unknown user, also an explicit empty one, is 401", async () => {
    await expectError(
      await download(agent, "letters.txt", { query: { username: "nobody-here" } }),
      401,
      /^error looking up user 'nobody-here': /,
    );
    await expectError(await download(agent, "letters.txt", { query: { username: "" } }), 401, /^error looking up user '': /);
  });
});

describe("ranges", () => {
  const range = async (value: string) => {
    const response = await letters({ Range: value });
    return [response.status, response.headers.get("Content-Range"), await response.text()];
  };

  test("206 with Content-Range for one range: closed, open, suffix, cut at the end", async () => {
    expect(await range("bytes=2-4")).toEqual([206, "bytes 2-4/26", "cde"]);
    expect(await range("bytes=24-")).toEqual([206, "bytes 24-25/26", "yz"]);
    expect(await range("bytes=-3")).toEqual([206, "bytes 23-25/26", "xyz"]);
    expect(await range("bytes=20-99")).toEqual([206, "bytes 20-25/26", "uvwxyz"]);
    expect(await range("bytes=-99")).toEqual([206, "bytes 0-25/26", LETTERS]);
  });

  test("206 multipart/byteranges for several ranges", async () => {
    const response = await letters({ Range: "bytes=0-1, -2" });
    expect(response.status).toBe(206);
    const boundary = response.headers.get("Content-Type")?.match(/^multipart\/byteranges; boundary=(\w+)$/)?.[1];
    const part = (range: string, text: string) =>
      `\r\n--${boundary}\r\nContent-Range: bytes ${range}/26\r\nContent-Type: text/plain;charset=utf-8\r\n\r\n${text}`;
    expect(await response.text()).toBe(`${part("0-1", "ab")}${part("24-25", "yz")}\r\n--${boundary}--\r\n`);
  });

  test("416 with the size for a range beyond the end or one that is not well formed", async () => {
    for (const value of ["bytes=26-", "bytes=99-100", "bytes=-0", "bytes=4-2", "bytes=x-y", "bytes=", "bytes=1"]) {
      const response = await letters({ Range: value });
      expect([value, response.headers.get("Content-Range")]).toEqual([value, "bytes */26"]);
      await expectError(response, 416, /range/);
    }
  });

  test("another unit, and ranges that sum up to more than the file, give the whole", async () => {
    expect(await range("lines=1-2")).toEqual([200, null, LETTERS]);
    expect(await range("bytes=0-20,1-25")).toEqual([200, null, LETTERS]);
    expect(await range(`bytes=${"0-0,".repeat(40)}0-0`)).toEqual([200, null, LETTERS]);
  });

  test("a range of an empty file gives 200 and nothing", async () => {
    const response = await download(agent, "empty", { headers: { Range: "bytes=0-9" } });
    expect([response.status, response.headers.get("Content-Length")]).toEqual([200, "0"]);
  });
});

describe("conditional requests", () => {
  const tags = async () => {
    const { headers } = await letters({});
    return { etag: headers.get("ETag") ?? "", modified: headers.get("Last-Modified") ?? "" };
  };
  const status = async (headers: Record<string, string>) => (await letters(headers)).status;

  test("If-None-Match: 304 for the tag, a list with it, its weak form and *; 200 for another", async () => {
    const { etag } = await tags();
    const given = [etag, `"x", ${etag}`, `W/${etag}`, "*", '"x"'];
    expect(await Promise.all(given.map((tag) => status({ "If-None-Match": tag })))).toEqual([304, 304, 304, 304, 200]);
  });

  test("If-Modified-Since: 304 unless modified later; If-None-Match comes first", async () => {
    const { modified } = await tags();
    const past = new Date(0).toUTCString();
    expect(await status({ "If-Modified-Since": modified })).toBe(304);
    expect(await status({ "If-Modified-Since": past })).toBe(200);
    expect(await status({ "If-Modified-Since": modified, "If-None-Match": '"x"' })).toBe(200);
  });

  test("If-Match and If-Unmodified-Since: 412 when not fulfilled", async () => {
    const { etag, modified } = await tags();
    expect(await status({ "If-Match": etag })).toBe(200);
    expect(await status({ "If-Match": '"x"' })).toBe(412);
    expect(await status({ "If-Unmodified-Since": modified })).toBe(200);
    expect(await status({ "If-Unmodified-Since": new Date(0).toUTCString() })).toBe(412);
  });

  test("If-Range: the range for this version, the whole for another", async () => {
    const { etag, modified } = await tags();
    const ranged = async (value: string) => (await letters({ Range: "bytes=0-1", "If-Range": value })).text();
    expect(await Promise.all([etag, modified, '"x"', `W/${etag}`, new Date(0).toUTCString()].map(ranged))).toEqual([
      "ab",
      "ab",
      LETTERS,
      LETTERS,
      LETTERS,
    ]);
  });

  test("304 has the tag and no body", async () => {
    const { etag } = await tags();
    const response = await letters({ "If-None-Match": etag });
    expect([response.headers.get("ETag"), response.headers.get("Vary"), await response.text()]).toEqual([etag, "Accept-Encoding", ""]);
  });

  test("the tag changes with the content", async () => {
    await asRoot(agent, "printf one > /home/user/changing");
    const first = (await download(agent, "changing")).headers.get("ETag");
    await asRoot(agent, "printf two > /home/user/changing");
    expect((await download(agent, "changing")).headers.get("ETag")).not.toBe(first);
  });
});

describe("Accept-Encoding", () => {
  const coding = async (value: string) => {
    const response = await letters({ "Accept-Encoding": value });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const encoding = response.headers.get("Content-Encoding");
    return [response.status, encoding, (encoding === "gzip" ? gunzipSync(bytes) : Buffer.from(bytes)).toString()];
  };

  test("gzip when it is asked for", async () => {
    for (const value of ["gzip", "gzip;q=1, identity;q=0.5", "identity;q=0, gzip", "*;q=0, gzip;q=0.1", "identity;q=0, *"]) {
      expect([value, ...(await coding(value))]).toEqual([value, 200, "gzip", LETTERS]);
    }
  });

  test("identity otherwise: *, gzip refused, identity preferred, a list of what can be read", async () => {
    for (const value of ["*", "gzip;q=0", "identity, gzip;q=0.5", "gzip, deflate, br, zstd", "identity"]) {
      expect([value, ...(await coding(value))]).toEqual([value, 200, null, LETTERS]);
    }
  });

  test("406 when nothing is acceptable", async () => {
    for (const value of ["identity;q=0", "*;q=0", "br, identity;q=0", "gzip;q=0, identity;q=0, br"]) {
      await expectError(await letters({ "Accept-Encoding": value }), 406, /no acceptable encoding found, supported: .*gzip/);
    }
  });

  test("a range or a condition forces identity, and is 406 where that is refused", async () => {
    const response = await letters({ "Accept-Encoding": "gzip", Range: "bytes=0-1" });
    expect([response.status, response.headers.get("Content-Encoding"), await response.text()]).toEqual([206, null, "ab"]);
    await expectError(await letters({ "Accept-Encoding": "gzip, identity;q=0", Range: "bytes=0-1" }), 406, /identity/);
  });
});

test("403 for a file that no user may read", async () => {
  // Its kernel side has nothing to read, which not even root may.
  const response = await download(agent, "/sys/bus/platform/drivers_probe", { query: { username: "root" } });
  await expectError(response, 403, /^error opening file '\/sys\/bus\/platform\/drivers_probe': /);
});

test("order of checks (docs/contract/agent.md): signature, user, path, what is there, coding, range", async () => {
  const path = "directory/../~no";
  const nothing = { headers: { "Accept-Encoding": "identity;q=0" } };
  const query = { signature: "v1_wrong", username: "nobody-here" };
  await expectError(await download(agent, "~no", { ...nothing, query, authorised: false }), 401, "invalid signature");
  await expectError(await download(agent, "~no", { ...nothing, query }), 401, /looking up user/);
  await expectError(await download(agent, "~no", nothing), 400, /cannot expand/);
  await expectError(await download(agent, path, nothing), 404, /does not exist/);
  await expectError(await download(agent, "directory", nothing), 400, /is a directory/);
  await expectError(await download(agent, "letters.txt", nothing), 406, /no acceptable encoding/);
  const ranged = { headers: { "Accept-Encoding": "gzip, identity;q=0", Range: "bytes=99-" } };
  await expectError(await download(agent, "letters.txt", ranged), 406, /identity/);
});

test("no user given and no default user is 400, before the path is looked at; of an upload and a composition too", async () => {
  const bare = await startAgent({ init: "open" });
  try {
    await initialise(bare, {});
    await expectError(await download(bare, "/etc/hostname"), 400, /no user/);
    await expectError(await put(bare, "~no/such", "x", { headers: { "Content-Encoding": "br" } }), 400, /no user/);
    await expectError(await postCompose(bare, { source_paths: ["~no"], destination: "~no" }), 400, /no user/);
  } finally {
    await bare.stop();
  }
});
