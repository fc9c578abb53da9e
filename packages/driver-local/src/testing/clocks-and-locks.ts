/**
 * A Python program that holds locks of every kind that a sandbox can have. Whenever /root/ask exists, it removes that file and writes its clocks and
 * the numbers of its open file to /root/seen, as JSON.
 */
export const CLOCKS_AND_LOCKS = `
import fcntl, json, os, time
os.chdir("/root")
whole = open("whole", "w"); fcntl.flock(whole, fcntl.LOCK_EX)
shared = open("shared", "w+"); fcntl.flock(shared, fcntl.LOCK_SH)
part = open("part", "w+"); fcntl.lockf(part, fcntl.LOCK_EX, 10, 20)
reads = open("reads", "w+"); fcntl.lockf(reads, fcntl.LOCK_SH)
def look():
    found, named = os.fstat(whole.fileno()), os.stat("whole")
    return {
        "real": time.time() * 1000, "monotonic": time.monotonic() * 1000, "boot": time.clock_gettime(time.CLOCK_BOOTTIME) * 1000,
        "inode": found.st_ino, "isSameFile": os.path.samestat(found, named), "device": found.st_dev,
    }
asked = 0
while True:
    if os.path.exists("ask"):
        os.unlink("ask"); asked += 1
        open("new", "w").write(json.dumps({"asked": asked, **look()})); os.rename("new", "seen")
    time.sleep(0.01)
`;

/** A Python program that tries to lock the same files, and prints the locks that it got, which must be only the shared ones. */
export const TRY_LOCKS = `
import fcntl, os
os.chdir("/root"); got = []
def attempt(name, lock):
    file = open(name.split("-")[0], "r+")
    try: lock(file); got.append(name)
    except OSError: pass
    file.close()
attempt("whole", lambda f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("shared-exclusively", lambda f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("shared", lambda f: fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB))
attempt("part", lambda f: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 25))
attempt("part-beside", lambda f: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 30))
attempt("reads-exclusively", lambda f: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB))
attempt("reads", lambda f: fcntl.lockf(f, fcntl.LOCK_SH | fcntl.LOCK_NB))
print(" ".join(got))
`;
