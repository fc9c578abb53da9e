import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type Case, failure, until } from "./kit.ts";

/** The first row of issue 6, beyond commands: files and git. */
export const FILES: readonly Case[] = [
  [
    "files: written one by one and many at once, read as text, bytes, blob and stream",
    async ({ sdk, sandbox }) => {
      const { files } = sandbox;
      const written = await files.write("d/one", "eins €\n");
      assert.deepEqual([written.path, written.name, written.type], ["/home/user/d/one", "one", "file"]);
      const many = await files.write([
        { path: "d/two", data: Uint8Array.of(0, 255, 10) },
        { path: "/tmp/three", data: new Blob(["drei"]) },
        { path: "d/four", data: Uint8Array.of(4).buffer },
      ]);
      assert.deepEqual(
        many.map(({ path }) => path),
        ["/home/user/d/two", "/tmp/three", "/home/user/d/four"],
      );
      assert.equal(await files.read("d/one"), "eins €\n");
      assert.deepEqual([...(await files.read("d/two", { format: "bytes" }))], [0, 255, 10]);
      assert.equal(await (await files.read("/tmp/three", { format: "blob" })).text(), "drei");
      const pieces: number[] = [];
      for await (const piece of await files.read("d/four", { format: "stream" })) pieces.push(...piece);
      assert.deepEqual(pieces, [4]);
      assert.equal((await failure(files.read("d/none"), sdk.NotFoundError)).reason, "file_not_found");
      await failure(files.write("/proc/no/file", "x"), sdk.BoxyardError);
      await files.write("own", "r", { user: "root" });
      assert.equal((await files.getInfo("/root/own")).owner, "root");
      await files.write("marked", "m", { metadata: { kind: "test" } });
      assert.deepEqual((await files.getInfo("marked")).metadata, { kind: "test" });
    },
  ],
  [
    "files: an upload in parts writes through a symbolic link, as a small one does",
    async ({ sandbox }) => {
      const { commands, files } = sandbox;
      await commands.run(
        "mkdir -p l/there && echo old > l/there/file && ln -s there/file l/link && ln -s link l/second && ln -s there/new l/dangling",
      );
      const bytes = new Uint8Array(17 << 20).fill(7);
      for (const [link, target] of [
        ["second", "there/file"],
        ["dangling", "there/new"],
      ] as const) {
        await files.write(`l/${link}`, bytes);
        const info = await files.getInfo(`l/${link}`);
        assert.deepEqual([info.isSymlink, info.symlinkTarget], [true, `/home/user/l/${target}`]);
        assert.equal((await files.getInfo(`l/${target}`)).size, bytes.length);
      }
      const names = (await files.list("l", { depth: 2 })).map(({ name }) => name);
      assert.deepEqual(names.sort(), ["dangling", "file", "link", "new", "second", "there"]);
    },
  ],
  [
    "files: directories, info, exists, rename, remove, compose, watch",
    async ({ sdk, sandbox }) => {
      const { files } = sandbox;
      assert.deepEqual([await files.makeDir("w/x"), await files.makeDir("w/x")], [true, false]);
      const seen: string[] = [];
      const handle = await files.watchDir("w", ({ type, name }) => void seen.push(`${type} ${name}`), { recursive: true });
      await files.write("w/x/a", "1");
      await until(() => seen.includes("create x/a") && seen.includes("write x/a"));
      await handle.stop();
      const moved = await files.rename("w/x/a", "w/b");
      assert.deepEqual([moved.path, await files.exists("w/x/a"), await files.exists("w/b")], ["/home/user/w/b", false, true]);
      await sandbox.commands.run("ln -s b w/link; chmod 750 w/b");
      const [b, link, x] = await files.list("w");
      assert.deepEqual([b?.name, b?.type, b?.size, b?.mode, b?.permissions], ["b", "file", 1, 0o750, "-rwxr-x---"]);
      assert.deepEqual([link?.isSymlink, link?.symlinkTarget, x?.type, x?.isSymlink], [true, "/home/user/w/b", "directory", false]);
      assert.equal((await files.list("w", { depth: 2 })).length, 3);
      await files.write("w/c", "2");
      const whole = await files.compose(["w/b", "w/c"], "w/all");
      assert.deepEqual([whole.path, await files.read("w/all"), await files.exists("w/c")], ["/home/user/w/all", "12", false]);
      await files.remove("w");
      await files.remove("w");
      assert.equal(await files.exists("w"), false);
      assert.equal((await failure(files.list("w"), sdk.NotFoundError)).reason, "file_not_found");
      assert.equal(seen.filter((event) => event.endsWith(" b")).length, 0, "nothing after stop");
    },
  ],

  [
    "files: 40 MB go up in parts, from bytes and from a stream, and come back as they were",
    async ({ sandbox }) => {
      const data = new Uint8Array(40_000_003);
      for (let i = 0; i < data.length; i += 1021) data[i] = i % 251;
      const chunks = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < data.length; at += 1_000_000) controller.enqueue(data.subarray(at, at + 1_000_000));
          controller.close();
        },
      });
      const seen: number[] = [];
      await sandbox.files.write("up/bytes", data, { onProgress: ({ sentBytes }) => void seen.push(sentBytes) });
      await sandbox.files.write("up/stream", chunks);
      assert.ok(seen.length >= 5 && seen.every((sent, i) => sent > (seen[i - 1] ?? 0)));
      assert.equal(seen.at(-1), data.length);
      const { stdout } = await sandbox.commands.run("cd up && cmp bytes stream && stat -c %s bytes && ls -A");
      assert.equal(stdout, "40000003\nbytes\nstream\n");
      const back = await sandbox.files.read("up/stream", { format: "bytes" });
      assert.equal(Buffer.compare(back, data), 0);
    },
  ],
  [
    "logs show the start; a git repository is made, changed and looked at",
    async ({ sandbox }) => {
      assert.equal((await sandbox.getLogs()).at(0)?.fields.event, "started");
      const { git, files } = sandbox;
      await git.init("repo");
      await files.write("repo/a.txt", "1");
      await git.add("repo");
      const author = { name: "A", email: "a@example.com" };
      assert.match(await git.commit("repo", "first", { author }), /^[0-9a-f]{40}$/);
      await git.clone("/home/user/repo", "copy");
      const { branch, upstream, clean } = await git.status("copy");
      assert.deepEqual([branch, upstream, clean], ["main", "origin/main", true]);
    },
  ],
];
