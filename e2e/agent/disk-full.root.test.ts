import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { asRoot, content, expectError, openFiles, postCompose, put, putForm } from "./support/files.ts";
import { unary } from "./support/rpc.ts";
import { run } from "./support/run.ts";

/*
 * Both ways in which a disk is full: no room on the file system (ENOSPC), and a quota that is used up (EDQUOT), as a sandbox has in
 * the storage pool. With every way of writing: small, large, of unknown size, form, gzip, composition.
 */

setDefaultTimeout(60_000);

const ROOM = 8 * 1024 * 1024;
/** A btrfs subvolume that has a quota, and a small file system; both go with the agent's mount namespace. */
const PREPARE = `
  f=$(mktemp) && truncate -s 128M $f && mkfs.btrfs -q -f -m single $f >/dev/null 2>&1 && mkdir /home/quotas && mount -o loop $f /home/quotas && rm $f
  btrfs quota enable /home/quotas && btrfs subvolume create /home/quotas/box >/dev/null && btrfs qgroup limit ${ROOM} /home/quotas/box
  mkdir /home/full && mount -t tmpfs -o size=${ROOM} tmpfs /home/full
  chmod 777 /home/quotas/box /home/full
`;

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent({ prepare: PREPARE });
});
afterAll(() => agent.stop());

const TOO_MUCH = new Uint8Array(2 * ROOM);

for (const [what, directory, message] of [
  ["a quota that is used up", "/home/quotas/box", /not enough disk space available \(quota\)/],
  ["a file system without room", "/home/full", /not enough disk space available/],
] as const) {
  describe(`507 for ${what}`, () => {
    const refused = async (response: Response) => expectError(response, 507, message);

    test("uploads of every kind; the old file is intact, and nothing is left of the new one", async () => {
      const old = `${directory}/old`;
      expect((await put(agent, old, "before")).status).toBe(200);
      await refused(await put(agent, old, TOO_MUCH));
      await refused(await put(agent, `${directory}/chunked`, new Blob([TOO_MUCH]).stream()));
      await refused(await putForm(agent, [[`${directory}/form`, "x".repeat(TOO_MUCH.length)]]));
      const bomb = new Uint8Array(gzipSync(TOO_MUCH));
      await refused(await put(agent, `${directory}/gzip`, bomb, { headers: { "Content-Encoding": "gzip" } }));
      expect([await content(agent, old), await asRoot(agent, `ls -A ${directory}`)]).toEqual(["before", "old"]);
    });

    test("a composition; destination and sources are intact", async () => {
      await put(agent, "/home/user/source", TOO_MUCH);
      const body = { source_paths: ["/home/user/source"], destination: `${directory}/old` };
      await refused(await postCompose(agent, body));
      expect([await content(agent, `${directory}/old`), await asRoot(agent, `ls -A ${directory} && stat -c %s /home/user/source`)]).toEqual(
        ["before", `old\n${TOO_MUCH.length}`],
      );
    });

    test("a move to it is resource_exhausted; the source stays", async () => {
      const { body } = await unary(agent, "filesystem.Filesystem/Move", { source: "/home/user/source", destination: `${directory}/moved` });
      expect([body.code, message.test(body.message)]).toEqual(["resource_exhausted", true]);
      expect(await asRoot(agent, `ls -A ${directory} && stat -c %s /home/user/source`)).toBe(`old\n${TOO_MUCH.length}`);
    });

    test("a small upload when a program has taken the last of it; then, when there is room again, it works", async () => {
      await run(
        agent,
        `dd if=/dev/zero of=${directory}/ballast bs=64k status=none; dd if=/dev/zero of=${directory}/more bs=1k status=none`,
        {
          user: "root",
        },
      );
      const before = await openFiles(agent);
      for (let i = 0; i < 5; i++) await refused(await put(agent, `${directory}/small`, new Uint8Array(100_000)));
      expect([await openFiles(agent), await asRoot(agent, `ls -A ${directory} | grep -v -e ballast -e more`)]).toEqual([before, "old"]);
      await asRoot(agent, `rm -f ${directory}/ballast ${directory}/more; sync -f ${directory}`);
      expect((await put(agent, `${directory}/small`, new Uint8Array(100_000))).status).toBe(200);
    });
  });
}
