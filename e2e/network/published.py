"""The cases of the file that is named, with the published client: a JSON list of what was not as it should be."""
import concurrent.futures
import json
import sys
import urllib.error
import urllib.request
import os
import time

from e2b import ALL_TRAFFIC, Sandbox

with open(sys.argv[1]) as file:
    given = json.load(file)
wrong = []


def look(sandbox, name, prints):
    for command, wanted in prints:
        said = sandbox.commands.run(command, user="root", timeout=40).stdout
        if said != wanted:
            wrong.append(f"{name}: {command}: {said!r}, not {wanted!r}")


def options(network):
    """With the names that Python has for them."""
    names = {"allowOut": "allow_out", "denyOut": "deny_out", "rules": "rules"}
    named = {names[name]: value for name, value in network.items()}
    if "deny_out" in named:
        named["deny_out"] = [ALL_TRAFFIC if entry == "0.0.0.0/0" else entry for entry in named["deny_out"]]
    return named


def one(case):
    sandbox = Sandbox.create(timeout=120, network=options(case["network"]))
    try:
        look(sandbox, case["name"], case["prints"])
        if case.get("pauses"):
            sandbox.pause()
            look(Sandbox.connect(sandbox.sandbox_id), f"{case['name']}, resumed", case["prints"])
    finally:
        sandbox.kill()


def updates():
    sandbox = Sandbox.create(timeout=120)
    try:
        for case in given["updates"]:
            sandbox.update_network(options(case["network"]))
            look(sandbox, case["name"], case["prints"])
    finally:
        sandbox.kill()


PROGRAM = """
import http.server
class Tell(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(self.headers["Host"].encode())
    def log_message(self, *_): pass
http.server.HTTPServer(("0.0.0.0", 8080), Tell).serve_forever()
"""


def way_in():
    """A masked host, and ports that ask for a token."""
    sandbox = Sandbox.create(timeout=120, network={"allow_public_traffic": False, "mask_request_host": "app.test:${PORT}"})
    try:
        sandbox.files.write("/tmp/tell.py", PROGRAM)
        sandbox.commands.run("python3 /tmp/tell.py", background=True)

        def ask(token):
            headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "8080"}
            headers |= {"e2b-traffic-access-token": token} if token else {}
            request = urllib.request.Request(os.environ["E2B_SANDBOX_URL"], headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code

        limit = time.monotonic() + 30
        while ask(sandbox.traffic_access_token) == 502 and time.monotonic() < limit:
            time.sleep(0.02)
        said = [ask(sandbox.traffic_access_token), ask(None), ask("wrong")]
        if said != ["app.test:8080", 403, 403]:
            wrong.append(f"the way in: {said}")
    finally:
        sandbox.kill()


with concurrent.futures.ThreadPoolExecutor(3) as pool:
    for future in [pool.submit(updates), pool.submit(way_in), *[pool.submit(one, case) for case in given["cases"]]]:
        future.result()
print(json.dumps(wrong))
