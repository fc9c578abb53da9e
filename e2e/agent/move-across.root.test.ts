import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { asRoot, openFiles } from "./support/files.ts";
import { unary } from "./support/rpc.ts";

// Move where the kernel can't rename: to another file system, and directories of the template.

setDefaultTimeout(60_000);

let agent: AgentUnderTest;
beforeAll(async () => {
  const elsewhere = "mkdir /home/elsewhere && mount -t tmpfs tmpfs /home/elsewhere";
  const layered = `cd /run && mkdir -p layers/lower/dir/sub layers/upper layers/work /home/layered && echo below > layers/lower/dir/sub/f
    mount -t overlay overlay -o redirect_dir=off,lowerdir=/run/layers/lower,upperdir=/run/layers/upper,workdir=/run/layers/work /home/layered`;
  const inside = "mkdir -p '/home/user/mounts/odd name/in' && mount -t tmpfs tmpfs '/home/user/mounts/odd name/in'";
  agent = await startAgent({ prepare: [elsewhere, layered, inside].join("\n") });
});
afterAll(() => agent.stop());

const move = (source: string, destination: string) => unary(agent, "filesystem.Filesystem/Move", { source, destination });
const moved = async (source: string, destination: string) => {
  const { status, body } = await move(source, destination);
  expect({ status, body: status === 200 ? {} : body }).toEqual({ status: 200, body: {} });
};
const refused = async (source: string, destination: string, text: RegExp) => {
  const { status, body } = await move(source, destination);
  expect([status, body.code]).toEqual([400, "failed_precondition"]);
  expect(body.message).toMatch(text);
};

test("content, links, modes, owners, times and attributes go along, then the source goes", async () => {
  await asRoot(
    agent,
    `cd /home/user && mkdir -p far/sub && printf data > far/sub/f && chown other far/sub/f && chmod 4751 far/sub/f && ln -s f far/sub/l
    python3 -c 'import os;os.setxattr("/home/user/far/sub/f", "user.e2b.k", b"v")'; chown other far
    touch -d 1960-01-01T00:00:00.987654321Z far/sub/f; touch -hd 2021-01-01T00:00:00.111111111Z far/sub/l; touch -d 2020-01-01T00:00:00.123456789Z far/sub`,
  );
  await moved("far", "/home/elsewhere/in/far");
  expect(
    await asRoot(
      agent,
      "cd /home/elsewhere/in/far && TZ=UTC stat -c '%n %U %a %y' sub sub/f sub/l && readlink sub/l && cat sub/f; ls -d /home/user/far 2>&1 | grep -c 'No such'; ls -A /home/elsewhere/in",
    ),
  ).toBe(
    "sub root 755 2020-01-01 00:00:00.123456789 +0000\nsub/f other 4751 1960-01-01 00:00:00.987654321 +0000\nsub/l root 777 2021-01-01 00:00:00.111111111 +0000\nf\ndata1\nfar",
  );
  const { body } = await unary(agent, "filesystem.Filesystem/Stat", { path: "/home/elsewhere/in/far/sub/f" });
  expect(body.entry.metadata).toEqual({ k: "v" });
});

test("names, and targets of links, that are no text", async () => {
  await asRoot(
    agent,
    `python3 -c '
import os
os.makedirs(b"/home/user/bytes/d\\xff/e\\xfe")
os.chdir(b"/home/user/bytes")
open(b"d\\xff/e\\xfe/f\\xfd", "w").write("x")
os.symlink(b"d\\xff/\\xfc", b"l\\xfb")'`,
  );
  await moved("bytes", "/home/elsewhere/bytes");
  const seen = `python3 -c '
import os
os.chdir(b"/home/elsewhere/bytes")
print(sorted(os.listdir(b".")), os.readlink(b"l\\xfb"), open(b"d\\xff/e\\xfe/f\\xfd").read())'`;
  expect(await asRoot(agent, seen)).toBe("[b'd\\xff', b'l\\xfb'] b'd\\xff/\\xfc' x");
});

test("holes stay holes, at the start, between data and at the end", async () => {
  await asRoot(
    agent,
    `mkdir /home/user/holes && cd /home/user/holes && truncate -s 40M only && truncate -s 40M some
    for at in 5 20; do printf data | dd of=some bs=1M seek=$at conv=notrunc status=none; done; sha1sum * > /home/user/holes.sum`,
  );
  await moved("holes", "/home/elsewhere/holes");
  const [sums, ...kib] = (
    await asRoot(agent, "cd /home/elsewhere/holes && sha1sum --quiet -c /home/user/holes.sum && echo same; du -k only some | cut -f1")
  ).split("\n");
  expect(sums).toBe("same");
  expect(kib.map((text) => Number(text) < 1024)).toEqual([true, true]);
});

test("names of one file stay one, in other directories too; a further name outside of the tree keeps the content there", async () => {
  await asRoot(
    agent,
    "mkdir -p /home/user/linked/a /home/user/linked/b && cd /home/user && echo x > linked/a/f && ln linked/a/f linked/b/g && ln linked/a/f linked/h && echo y > linked/a/i && ln linked/a/i outside",
  );
  await moved("linked", "/home/elsewhere/linked");
  await asRoot(agent, "echo more >> /home/elsewhere/linked/h");
  expect(await asRoot(agent, "cd /home/elsewhere/linked && cat a/f b/g && stat -c '%n %h' a/f a/i && cat a/i /home/user/outside")).toBe(
    "x\nmore\nx\nmore\na/f 3\na/i 1\ny\ny",
  );
});

test("a FIFO inside: refused, the source intact, nothing left", async () => {
  await asRoot(agent, "mkdir /home/user/special /home/elsewhere/none && cd /home/user/special && printf x > a && mkfifo p");
  await refused("special", "/home/elsewhere/none/special", /FIFO/);
  expect(await asRoot(agent, "ls -A /home/user/special /home/elsewhere/none")).toBe("/home/elsewhere/none:\n\n/home/user/special:\na\np");
});

test("a mount point, one inside, and a way into it: refused before anything is copied", async () => {
  await asRoot(agent, "echo keep > '/home/user/mounts/odd name/in/f' && mkdir -p /home/elsewhere/empty");
  await refused("mounts", "/home/elsewhere/empty/mounts", /mount point/);
  await refused("mounts/odd name/in", "/home/elsewhere/empty/in", /mount point/);
  await refused("mounts", "/home/user/mounts/odd name/in/below", /mount point/);
  expect(await asRoot(agent, "find /home/user/mounts /home/elsewhere/empty | sort")).toBe(
    "/home/elsewhere/empty\n/home/user/mounts\n/home/user/mounts/odd name\n/home/user/mounts/odd name/in\n/home/user/mounts/odd name/in/f",
  );
});

test("a directory of the template moves within its file system", async () => {
  await moved("/home/layered/dir", "/home/layered/new");
  expect(await asRoot(agent, "cd /home/layered && find . | sort && cat new/sub/f")).toBe(".\n./new\n./new/sub\n./new/sub/f\nbelow");
});

test("20,000 empty files are copied while others are answered; nothing stays open", async () => {
  await asRoot(agent, "mkdir -p /home/user/many /home/elsewhere/to && cd /home/user/many && seq 1 20000 | xargs touch");
  const before = await openFiles(agent);
  let isDone = false;
  const moving = moved("many", "/home/elsewhere/to/many").finally(() => {
    isDone = true;
  });
  // Answers that came in the middle of it show the copy under its temporary name.
  let during = 0;
  while (!isDone) {
    const { body } = await unary(agent, "filesystem.Filesystem/ListDir", { path: "/home/elsewhere/to" });
    if (body.entries?.[0]?.name.startsWith(".boxyard-")) during++;
  }
  await moving;
  expect(during).toBeGreaterThan(3);
  expect([await asRoot(agent, "ls /home/elsewhere/to/many | wc -l"), await openFiles(agent)]).toEqual(["20000", before]);
});
