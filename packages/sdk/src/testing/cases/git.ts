import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Case, failure } from "../bench.ts";
import { startGitServer } from "../fake-git-server.ts";

const SECRET = "s3cret w'ord";
const author = { name: "A. Uthor", email: "a@example.com" };

/** A directory of this machine, where the fake platform's commands run. */
async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-git-"));
  try {
    await run(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Everything that stands in files below a directory. */
function allText(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, "latin1"))
    .join("\n");
}

export const GIT_CASES: readonly Case[] = [
  [
    "git: init, status, add, commit, branch, checkout",
    ({ sdk, sandbox: { git } }) =>
      inDirectory(async (directory) => {
        const repo = join(directory, "a repo");
        await git.init(repo);
        writeFileSync(join(repo, "a b.txt"), "1\n");
        writeFileSync(join(repo, "gone"), "1\n");
        const untracked = { staged: undefined, unstaged: "untracked" } as const;
        assert.deepEqual(await git.status(repo), {
          branch: "main",
          upstream: undefined,
          ahead: 0,
          behind: 0,
          files: [
            { path: "a b.txt", ...untracked },
            { path: "gone", ...untracked },
          ],
          clean: false,
        });
        await git.add(repo);
        const first = await git.commit(repo, "-first\n\nwith 'quotes' $HOME", { author });
        assert.match(first, /^[0-9a-f]{40}$/);
        assert.equal((await git.status(repo)).clean, true);
        await git.createBranch(repo, "side");
        await git.checkout(repo, "new", { create: true });
        assert.deepEqual(await git.branches(repo), { names: ["main", "new", "side"], current: "new" });
        await git.deleteBranch(repo, "side");
        writeFileSync(join(repo, "a b.txt"), "2\n");
        rmSync(join(repo, "gone"));
        await git.add(repo, ["gone"]);
        assert.deepEqual((await git.status(repo)).files, [
          { path: "a b.txt", staged: undefined, unstaged: "modified" },
          { path: "gone", staged: "deleted", unstaged: undefined },
        ]);
        await git.add(repo);
        await git.commit(repo, "second", { author });
        await git.checkout(repo, first);
        assert.equal((await git.status(repo)).branch, undefined);
        const error = await failure(git.checkout(repo, "nothing"), sdk.CommandExitError);
        assert.equal(error.exitCode, 128);
        await failure(git.checkout(repo, "--orphan"), sdk.InvalidArgumentError);
        assert.equal((await failure(git.pull(repo), sdk.ConflictError)).reason, "git_no_upstream");
      }),
  ],
  [
    "git: clone, push and pull with credentials that stand nowhere afterwards",
    ({ sdk, sandbox: { git, commands } }) =>
      inDirectory(async (directory) => {
        await git.init(join(directory, "served/r.git"), { bare: true });
        await commands.run(`git -C ${directory}/served/r.git config http.receivepack true`);
        const server = await startGitServer(join(directory, "served"), "me", SECRET);
        try {
          const [url, mine, theirs] = [`${server.url}/r.git`, join(directory, "mine"), join(directory, "theirs")];
          const right = { username: "me", password: SECRET };
          assert.equal((await failure(git.clone(url, mine), sdk.AuthenticationError)).reason, "git_credentials_missing");
          const wrong = { username: "me", password: "wrong" };
          assert.equal((await failure(git.clone(url, mine, wrong), sdk.AuthenticationError)).reason, "git_credentials_refused");
          await git.clone(url.replace("//", `//me:${encodeURIComponent(SECRET)}@`), mine);
          writeFileSync(join(mine, "a"), "1");
          await git.add(mine);
          const commit = await git.commit(mine, "one", { author });
          await git.push(mine, right);
          const { upstream, ahead, behind } = await git.status(mine);
          assert.deepEqual([upstream, ahead, behind], ["origin/main", 0, 0]);
          await git.clone(url, theirs, { ...right, depth: 1, branch: "main" });
          writeFileSync(join(mine, "a"), "2");
          await git.add(mine);
          assert.notEqual(await git.commit(mine, "two", { author }), commit);
          await git.push(mine, right);
          await git.pull(theirs, right);
          assert.equal(readFileSync(join(theirs, "a"), "utf8"), "2");
          await git.pull(theirs, { ...right, remote: "origin", branch: "main" });
          assert.ok(!allText(directory).includes("s3cret"));
          assert.equal((await failure(git.pull(theirs), sdk.AuthenticationError)).reason, "git_credentials_missing");
          await failure(git.addRemote(mine, "x", "https://a:b@example.com/r"), sdk.InvalidArgumentError);
        } finally {
          await server.stop();
        }
      }),
  ],
  [
    "git: credentials are in no argument and no variable that a list of commands shows",
    ({ sandbox: { git, commands } }) =>
      inDirectory(async (directory) => {
        const listed: string[] = [];
        const server = await startGitServer(directory, "me", SECRET);
        const done = git
          .clone(`${server.url}/none.git`, join(directory, "x"), { username: "me", password: SECRET })
          .catch((error) => error);
        for (let ended = false; !ended; ended = (await Promise.race([done, Promise.resolve("open")])) !== "open") {
          listed.push(JSON.stringify(await commands.list()));
        }
        await server.stop();
        assert.ok(listed.some((text) => text.includes("none.git")));
        assert.ok(!listed.join().includes("s3cret"));
        assert.ok(!String((await done).stack).includes("s3cret"));
      }),
  ],
];
