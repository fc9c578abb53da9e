# A user's program in Python on a machine that resolves the wildcard's names: it has a key and a domain, nothing else.
import os

from e2b import Sandbox

sandbox = Sandbox.connect(os.environ["SANDBOX"])
sandbox.files.write("notes.txt", "written from outside")
print(sandbox.commands.run("cat notes.txt").stdout)
