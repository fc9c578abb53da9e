/** A Python program with open files, locks, sockets, timers, threads and a database. When /root/again exists, it checks them and writes /root/told. */
export const REAL_PROGRAM = `
import fcntl, hashlib, mmap, os, signal, socket, sqlite3, threading, time
os.chdir("/root")
memory = os.urandom(32 << 20); digest = hashlib.sha256(memory).hexdigest()
gone = open("gone", "w+"); gone.write("still here"); gone.flush(); os.unlink("gone")
linked = open("linked", "w+"); linked.write("one of two names"); linked.flush(); os.link("linked", "other"); os.unlink("linked")
locked = open("locked", "w"); fcntl.flock(locked, fcntl.LOCK_EX)
unix = socket.socket(socket.AF_UNIX); unix.bind("socket"); unix.listen()
pair = socket.socketpair(); pair[0].send(b"queued")
read, write = os.pipe(); os.write(write, b"in the pipe")
anonymous = os.memfd_create("m"); os.write(anonymous, b"memfd")
shared = mmap.mmap(-1, 4096); shared[:6] = b"shared"
shm = open("/dev/shm/s", "w+"); shm.write("in memory"); shm.flush()
database = sqlite3.connect("db", check_same_thread=False); database.execute("pragma journal_mode=wal"); database.execute("create table t(n)")
rows = 0
alarms = []
signal.signal(signal.SIGALRM, lambda *_: alarms.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
beats = [0] * 200
def beat(i):
    while True:
        beats[i] += 1; time.sleep(0.1)
for i in range(200): threading.Thread(target=beat, args=(i,), daemon=True).start()
tcp = socket.create_server(("127.0.0.1", 7000)); client = socket.create_connection(("127.0.0.1", 7000)); peer, _ = tcp.accept()
def check(round):
    global rows
    wrong = []
    def same(what, a, b):
        if a != b: wrong.append(f"{what}: {a!r} is not {b!r}")
    same("memory", hashlib.sha256(memory).hexdigest(), digest)
    for what, file, text in (("deleted", gone, "still here"), ("one name of two", linked, "one of two names"), ("/dev/shm", shm, "in memory")):
        file.seek(0); same(what, file.read(), text)
    other = open("locked")
    try: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB); wrong.append("the lock is gone")
    except OSError: pass
    caller = socket.socket(socket.AF_UNIX); caller.connect("socket"); unix.accept()[0].close(); caller.close()
    same("socket pair", pair[1].recv(99), b"queued"); pair[0].send(b"queued")
    same("pipe", os.read(read, 99), b"in the pipe"); os.write(write, b"in the pipe")
    same("memfd", os.pread(anonymous, 99, 0), b"memfd"); same("mapping", shared[:6], b"shared")
    database.executemany("insert into t values(?)", [(i,) for i in range(100)]); database.commit(); rows += 100
    same("rows", database.execute("select count(*) from t").fetchone()[0], rows)
    same("integrity", database.execute("pragma integrity_check").fetchone()[0], "ok")
    seen, counted = len(alarms), list(beats)
    stands = lambda: any(a == b for a, b in zip(beats, counted))
    # On a busy machine not every one of 200 threads runs within the time of a few beats.
    deadline = time.monotonic() + 6
    while (len(alarms) == seen or stands()) and time.monotonic() < deadline: time.sleep(0.05)
    if len(alarms) == seen: wrong.append("no timer")
    if stands(): wrong.append("a thread stands still")
    if round > 1:
        try: peer.settimeout(1); wrong.append(f"the connection is open: {peer.recv(9)!r}") if peer.recv(9) else None
        except OSError: pass
    caller = socket.create_connection(("127.0.0.1", 7000)); tcp.accept()[0].close(); caller.close()
    open("new", "w").write(f"{round} {'; '.join(wrong) or 'all there'}\\n"); os.rename("new", "told")
round = 1
check(round)
while True:
    time.sleep(0.02)
    if os.path.exists("again"):
        os.unlink("again"); round += 1; check(round)
`;
