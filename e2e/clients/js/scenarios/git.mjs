import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

/** Answers every request as a git server does that asks for a name and a password. */
const GATE = `
import http.server
class Gate(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="gate"')
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", 8094), Gate).serve_forever()
`;

export default async function (client) {
  await withSandbox(client, async ({ git, files, commands }) => {
    await git.configureUser("Ada", "ada@example.com");
    await git.init("work", { initialBranch: "main" });
    await files.write("work/a.txt", "one\n");
    await git.add("work");
    await git.commit("work", "first");

    await files.write("work/a.txt", "two\n");
    await files.write("work/new.txt", "new\n");
    const changes = async () => (await git.status("work")).fileStatus.map(({ name, status, staged }) => [name, status, staged]);
    assert.deepEqual(await changes(), [
      ["a.txt", "modified", false],
      ["new.txt", "untracked", false],
    ]);
    await git.add("work", { files: ["new.txt"] });
    assert.deepEqual((await changes())[1], ["new.txt", "added", true]);
    await git.reset("work", { paths: ["new.txt"] });
    await git.restore("work", { paths: ["a.txt"] });
    assert.deepEqual(await changes(), [["new.txt", "untracked", false]]);
    assert.equal(await files.read("work/a.txt"), "one\n");

    await git.createBranch("work", "side");
    await git.checkoutBranch("work", "main");
    const { branches, currentBranch } = await git.branches("work");
    assert.deepEqual([branches.toSorted(), currentBranch], [["main", "side"], "main"]);
    await git.deleteBranch("work", "side", { force: true });
    assert.deepEqual((await git.branches("work")).branches, ["main"]);

    await git.init("origin.git", { bare: true, initialBranch: "main" });
    await git.remoteAdd("work", "origin", "/home/user/origin.git");
    assert.deepEqual([await git.remoteGet("work", "origin"), await git.remoteGet("work", "none")], ["/home/user/origin.git", undefined]);
    await assert.rejects(git.pull("work"), client.GitUpstreamError);
    await git.push("work", { remote: "origin", branch: "main" });
    await git.clone("/home/user/origin.git", { path: "copy" });
    await git.add("work");
    await git.commit("work", "second", { authorName: "Grace", authorEmail: "grace@example.com" });
    const { upstream, ahead, behind } = await git.status("work");
    assert.deepEqual([upstream, ahead, behind], ["origin/main", 1, 0]);
    await git.push("work");
    await git.pull("copy");
    assert.equal((await commands.run("git -C copy log --format='%an %s'")).stdout, "Grace second\nAda first\n");

    await git.setConfig("pull.ff", "only", { scope: "local", path: "copy" });
    assert.equal(await git.getConfig("pull.ff", { scope: "local", path: "copy" }), "only");
    assert.deepEqual([await git.getConfig("user.name"), await git.getConfig("user.none")], ["Ada", undefined]);
    await git.dangerouslyAuthenticate({ username: "ada", password: "secret", host: "git.example.com" });
    const told = await commands.run("printf 'protocol=https\\nhost=git.example.com\\n\\n' | git credential fill");
    assert.match(told.stdout, /username=ada\npassword=secret\n/);

    await files.write("gate.py", GATE);
    await commands.run("python3 gate.py", { background: true, timeoutMs: 0 });
    const probe = "curl -s -o /dev/null -w '%{http_code}' http://localhost:8094/ || true";
    await eventually("the gate listens", async () => (await commands.run(probe)).stdout === "401");
    for (const options of [{}, { username: "ada", password: "wrong" }])
      await assert.rejects(git.clone("http://localhost:8094/x.git", { path: "x", ...options }), client.GitAuthError);
    assert.equal(await files.exists("x"), false);
  });
}
