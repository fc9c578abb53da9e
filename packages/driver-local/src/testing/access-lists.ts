/* Attempts to take the machine's memory by access lists, which no cgroup counts; small ones, that only show whether the kernel takes the list. */

/** Sets access lists of 13, 14 and 8,184 entries, wherever files can be, and an attribute of another size; asks how many files fit in memory. */
export const ACCESS_LISTS = `
import errno, os, struct
def entries(n):
    named = [(2, 7, i) for i in range(n - 4)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in [(1, 7, -1 % 2**32)] + named + [(4, 7, -1 % 2**32), (16, 7, -1 % 2**32), (32, 7, -1 % 2**32)])
def attempt(where, file, what, name, value):
    try: os.setxattr(file, name, value); print("%s %s: done" % (where, what))
    except OSError as error: print("%s %s: %s" % (where, what, errno.errorcode[error.errno]))
for where in ("/dev/shm/a", "/root/a", "memfd"):
    file = os.memfd_create("a") if where == "memfd" else os.open(where, os.O_CREAT | os.O_RDWR)
    for what, n in (("few", 13), ("many", 14), ("most", 8184)): attempt(where, file, what, "system.posix_acl_access", entries(n))
    # File systems in memory have no such attributes before Linux 6.6.
    if where == "/root/a": attempt(where, file, "other", "user.other", bytes(4001))
for where in ("/dev", "/dev/shm"):
    size = os.statvfs(where)
    print(where + (": limited" if size.f_files * 4096 <= size.f_blocks * size.f_frsize else ": not limited"))
`;

/** The lines that it prints in a sandbox. */
export const ACCESS_LISTS_ANSWER = [
  ...["/dev/shm/a", "/root/a", "memfd"].flatMap((where) => [
    `${where} few: done`,
    `${where} many: E2BIG`,
    `${where} most: E2BIG`,
    ...(where === "/root/a" ? [`${where} other: done`] : []),
  ]),
  "/dev: limited",
  "/dev/shm: limited",
];
