"""What the published Python client's git module must find in a sandbox. Each function is one test, for both of its flavours."""
import e2b

from scenarios import _tools, error_of, same, sandbox_of


async def _repository(sandbox):
    """A repository with one commit, of which `origin.git` is a bare copy."""
    do, _ = _tools()
    git = sandbox.git
    await do(git.configure_user("Ada", "ada@example.com"))
    await do(git.init("work", initial_branch="main"))
    await do(sandbox.files.write("work/a.txt", "one\n"))
    await do(git.add("work"))
    await do(git.commit("work", "first"))
    await do(git.init("origin.git", bare=True, initial_branch="main"))
    await do(git.remote_add("work", "origin", "/home/user/origin.git"))
    return git


async def git_changes(flavour):
    """init, configure_user, status, add, commit, reset, restore, branches."""
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        git = await _repository(sandbox)
        files = sandbox.files
        await do(files.write("work/a.txt", "two\n"))
        await do(files.write("work/new.txt", "new\n"))
        status = await do(git.status("work"))
        same(status.current_branch, "main")
        same([(entry.name, entry.status, entry.staged) for entry in status.file_status], [("a.txt", "modified", False), ("new.txt", "untracked", False)])
        await do(git.add("work", files=["new.txt"], all=False))
        same([entry.name for entry in (await do(git.status("work"))).file_status if entry.staged], ["new.txt"])
        await do(git.reset("work", paths=["new.txt"]))
        same([entry.name for entry in (await do(git.status("work"))).file_status if entry.staged], [])
        await do(git.restore("work", ["a.txt"]))
        same(await do(files.read("work/a.txt")), "one\n")

        await do(git.create_branch("work", "side"))
        await do(git.add("work"))
        await do(git.commit("work", "second", author_name="Grace", author_email="grace@example.com"))
        log = await do(sandbox.commands.run("git -C work log --format='%an %s'"))
        same(log.stdout, "Grace second\nAda first\n")
        await do(git.checkout_branch("work", "main"))
        branches = await do(git.branches("work"))
        same((sorted(branches.branches), branches.current_branch), (["main", "side"], "main"))
        same(await do(files.exists("work/new.txt")), False)
        await do(git.delete_branch("work", "side", force=True))
        same((await do(git.branches("work"))).branches, ["main"])
        await do(git.commit("work", "empty", allow_empty=True))
        await do(git.reset("work", mode="hard", target="HEAD~1"))
        same((await do(sandbox.commands.run("git -C work log --format=%s"))).stdout, "first\n")


async def git_remotes(flavour):
    """remote_add, remote_get, push, clone, pull, get_config, set_config."""
    do, _ = _tools()
    async with sandbox_of(flavour) as sandbox:
        git = await _repository(sandbox)
        same((await do(git.remote_get("work", "origin")), await do(git.remote_get("work", "none"))), ("/home/user/origin.git", None))
        await error_of(e2b.GitUpstreamException, lambda: git.pull("work"))
        await do(git.push("work", remote="origin", branch="main"))
        await do(git.clone("/home/user/origin.git", "copy"))
        same(await do(sandbox.files.read("copy/a.txt")), "one\n")
        await do(sandbox.files.write("work/a.txt", "two\n"))
        await do(git.add("work"))
        await do(git.commit("work", "second"))
        status = await do(git.status("work"))
        same((status.upstream, status.ahead, status.behind, status.file_status), ("origin/main", 1, 0, []))
        await do(git.push("work"))
        await do(git.pull("copy"))
        same(await do(sandbox.files.read("copy/a.txt")), "two\n")
        await do(git.set_config("pull.ff", "only", scope="local", path="copy"))
        same(await do(git.get_config("pull.ff", scope="local", path="copy")), "only")
        same((await do(git.get_config("user.name")), await do(git.get_config("user.none"))), ("Ada", None))


#: Answers every request as a git server does that asks for a name and a password.
GATE = """
import http.server
class Gate(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="gate"')
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", 8094), Gate).serve_forever()
"""


async def git_credentials(flavour):
    do, eventually = _tools()
    async with sandbox_of(flavour) as sandbox:
        git = sandbox.git
        await do(sandbox.files.write("gate.py", GATE))
        await do(sandbox.commands.run("python3 gate.py", background=True, timeout=0))

        async def listens():
            probe = "curl -s -o /dev/null -w '%{http_code}' http://localhost:8094/ || true"
            return (await do(sandbox.commands.run(probe))).stdout == "401"

        await eventually("the gate listens", listens)
        await error_of(e2b.GitAuthException, lambda: git.clone("http://localhost:8094/x.git", "x"))
        refused = lambda: git.clone("http://localhost:8094/x.git", "x", username="ada", password="wrong")
        await error_of(e2b.GitAuthException, refused)
        same(await do(sandbox.files.exists("x")), False)

        await do(git.dangerously_authenticate("ada", "secret", host="git.example.com"))
        asked = "printf 'protocol=https\\nhost=git.example.com\\n\\n' | git credential fill"
        told = (await do(sandbox.commands.run(asked))).stdout
        assert "username=ada\npassword=secret\n" in told, told
