import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { asRoot, content, expectError, openFiles, put, putForm } from "./support/files.ts";

/*
 * Uploads to places that are no plain file in a directory of its own.
 */

setDefaultTimeout(60_000);

let agent: AgentUnderTest;
beforeAll(async () => {
  const file = "touch /home/mounted && chmod 640 /home/mounted && mount --bind /home/mounted /home/mounted";
  // Numbers of its files take all 64 bits.
  const layered = `cd /run && mkdir below above && mount -t tmpfs tmpfs below && mount -t tmpfs tmpfs above
    mkdir -p below/l/a below/l/b below/l/c above/u above/w /home/layered
    mount -t overlay overlay -o xino=on,lowerdir=below/l,upperdir=above/u,workdir=above/w /home/layered`;
  agent = await startAgent({ prepare: [file, layered].join("\n") });
});
afterAll(() => agent.stop());

const attributes = (path: string) =>
  asRoot(agent, `python3 -c 'import os;print(sorted((n, os.getxattr("${path}", n).decode()) for n in os.listxattr("${path}")))'`);

test("a file that is a mount point gets owner and metadata as every file, and keeps its mode and what is not ours", async () => {
  await asRoot(agent, `python3 -c 'import os;os.setxattr("/home/mounted", "user.mine", b"kept")'`);
  for (const [text, key] of [
    ["first, and longer", "a"],
    ["second", "b"],
  ]) {
    expect((await put(agent, "/home/mounted", text ?? "", { headers: { [`X-Metadata-${key}`]: "1" } })).status).toBe(200);
    expect([await content(agent, "/home/mounted"), await asRoot(agent, "stat -c '%U:%G %a' /home/mounted")]).toEqual([
      text ?? "",
      "user:user 640",
    ]);
    expect(await attributes("/home/mounted")).toBe(`[('user.e2b.${key}', '1'), ('user.mine', 'kept')]`);
  }
});

test("directories of a layered file system are told apart, however near their numbers are", async () => {
  const names = ["a/f", "b/f", "c/f"];
  const files = names.map((name) => [`/home/layered/${name}`, name] as const);
  expect((await putForm(agent, files)).status).toBe(200);
  expect(await asRoot(agent, "cd /home/layered && grep -r ^ . | sort")).toBe("./a/f:a/f\n./b/f:b/f\n./c/f:c/f");
});

describe("through links whose text is not UTF-8", () => {
  /** Every file below the directory, with what is no ASCII escaped, and its content. */
  const files = () =>
    asRoot(
      agent,
      'cd /home/user/odd && find . -type f -print0 | sort -z | while IFS= read -r -d \'\' f; do printf \'%q=%s\\n\' "$f" "$(cat "$f")"; done',
    );

  test("the target is written, whether it is there or not, and keeps its mode and attributes", async () => {
    await asRoot(
      agent,
      `mkdir -p /home/user/odd/$'d\\xe9' && cd /home/user/odd && printf old > $'caf\\xe9' && chmod 600 $'caf\\xe9' && ln -s $'caf\\xe9' there && ln -s $'new\\xe9' missing
       ln -s /home/user/odd/$'d\\xe9/in\\xe9' absolute && ln -s $'d\\xe9/text' deep && ln -s $'d\\xe9' dir && ln -s $'gone\\xe9/x' nowhere
       python3 -c 'import os;os.setxattr(b"caf\\xe9", "user.mine", b"kept")'`,
    );
    for (const name of ["there", "missing", "absolute", "deep"]) expect((await put(agent, `odd/${name}`, `by ${name}`)).status).toBe(200);
    expect(await files()).toBe(
      ["$'./caf\\351'=by there", "$'./d\\351/in\\351'=by absolute", "$'./d\\351/text'=by deep", "$'./new\\351'=by missing"].join("\n"),
    );
    expect(await asRoot(agent, "stat -c '%U %a' /home/user/odd/$'caf\\xe9'; stat -c %F /home/user/odd/there")).toBe(
      "user 600\nsymbolic link",
    );
    expect(await asRoot(agent, `python3 -c 'import os;print(os.listxattr(b"/home/user/odd/caf\\xe9"))'`)).toBe("['user.mine']");
    await expectError(await put(agent, "odd/dir", "x"), 400, "path is a directory: /home/user/odd/dir");
    await expectError(await put(agent, "odd/nowhere", "x"), 400, /missing directory/);
  });

  test("two parts that lead to the same name are 400, and neither is written", async () => {
    await asRoot(agent, "cd /home/user/odd && rm -rf * && ln -s $'x\\xe9' one && ln -s $'x\\xe9' two && ln -s $'x\\xe8' other");
    const same = [
      ["odd/one", "1"],
      ["odd/two", "2"],
    ] as const;
    await expectError(await putForm(agent, same), 400, /multiple files to the same path/);
    expect(await files()).toBe("");
    expect(
      (
        await putForm(agent, [
          ["odd/one", "1"],
          ["odd/other", "2"],
        ])
      ).status,
    ).toBe(200);
    expect(await files()).toBe("$'./x\\350'=2\n$'./x\\351'=1");
  });
});

describe("files in more directories than are held open", () => {
  const DIRS = 600;
  const many = (text: string) => Array.from({ length: DIRS }, (_, i) => [`many/${i % 300}/${Math.floor(i / 300)}/f`, text] as const);

  test("all are written, and none when one can't be", async () => {
    const before = await openFiles(agent);
    expect((await putForm(agent, many("old"))).status).toBe(200);
    expect(await asRoot(agent, "cd /home/user/many && grep -rlx old . | wc -l; find . -type f | wc -l")).toBe(`${DIRS}\n${DIRS}`);
    await asRoot(agent, "mkdir /home/user/many/new && chown user /home/user/many/new");
    const response = await putForm(agent, [...many("new"), ["many/new/g", "new"], ["many/299/1/f/below", "x"]]);
    await expectError(response, 400, /not a directory/);
    expect(await asRoot(agent, "cd /home/user/many && grep -rlx new . | wc -l; find . -name '.boxyard-*' | wc -l; ls -A new")).toBe("0\n0");
    await eventually("its files are closed", async () => (await openFiles(agent)) === before);
  });
});
