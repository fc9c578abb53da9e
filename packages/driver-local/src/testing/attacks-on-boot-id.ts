import { BOOT_ID_PATH } from "../figures/files.ts";

/** A Python program that tries to change, replace or uncover the boot identity that its sandbox shows; prints the number of each attempt that succeeds. */
export const ATTACKS_ON_BOOT_ID = `
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
ID = "${BOOT_ID_PATH}"
def write(f): open(f, "w").write("x")
def kernel(name):
    def call(*args):
        if getattr(l, name)(*args) < 0: raise OSError(ctypes.get_errno(), name)
    return call
def numbered(number, *args):
    fd = l.syscall(number, *args)
    if fd < 0: raise OSError(ctypes.get_errno(), str(number))
mount, umount = kernel("mount"), kernel("umount2")
MS_BIND, MS_REMOUNT, MNT_DETACH, OPEN_TREE_CLONE, CLONE_NEWNS, CLONE_NEWUSER = 4096, 32, 2, 1, 0x20000, 0x10000000
attempts = [lambda d=d: umount(d, MNT_DETACH) for d in (ID.encode(), b"/proc/sys", b"/proc")]
attempts += [
  lambda: mount(b"none", ID.encode(), None, MS_BIND | MS_REMOUNT, None), lambda: mount(b"/etc/hostname", ID.encode(), None, MS_BIND, None),
  lambda: mount(b"proc", b"/mnt", b"proc", 0, None), lambda: numbered(428, -100, ID.encode(), OPEN_TREE_CLONE),
  lambda: kernel("unshare")(CLONE_NEWNS), lambda: kernel("unshare")(CLONE_NEWUSER | CLONE_NEWNS),
]
for f in (ID, "/.boxyard/host/boot_id", f"/proc/1/root{ID}"):
    attempts += [lambda f=f: write(f), lambda f=f: os.remove(f), lambda f=f: os.rename("/etc/hostname", f), lambda f=f: os.utime(f),
        lambda f=f: os.chmod(f, 0o666), lambda f=f: os.chown(f, 0, 0), lambda f=f: os.truncate(f, 0), lambda f=f: os.setxattr(f, "user.x", b"x")]
for i, attempt in enumerate(attempts):
    try:
        attempt()
        print("succeeded:", i)
    except OSError: pass
`;
