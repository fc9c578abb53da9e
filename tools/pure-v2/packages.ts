/**
 * Packages that the guest's Debian tree has, beside those of the base template: what set-up installs on a user's machine (the guest cannot reach a
 * mirror), and the tools of the tests.
 */
export const GUEST_PACKAGES = [
  "btrfs-progs",
  "busybox-static",
  "ca-certificates",
  "crun",
  "iproute2",
  "kmod",
  "mount",
  "nftables",
  "procps",
  "runc",
  "util-linux",
] as const;

/**
 * Programs that set-up looks for but does not run in the guest, because this machine has made their results. They need hundreds of megabytes, so the
 * guest has scripts in their place, which fail.
 */
export const ABSENT_PROGRAMS = ["gcc", "mmdebstrap", "musl-gcc"] as const;

/**
 * Patterns of tar for files of the base template that the guest and its sandboxes do not get. No test uses these files, and under emulation each test
 * file copies a pool that would contain them. Without apt, set-up sees at once that it cannot install CRIU.
 */
export const LEFT_OUT_OF_BASE = [
  "./boot/*",
  "./usr/bin/*-linux-gnu-*",
  "./usr/bin/apt*",
  "./usr/bin/git*",
  "./usr/bin/perl*",
  "./usr/bin/rg",
  "./usr/bin/scalar",
  "./usr/bin/ssh*",
  "./usr/bin/vim*",
  "./usr/include/*",
  ...["apt", "gcc", "git-core", "openssh"].map((name) => `./usr/lib/${name}`),
  ...["*.[ao]", "*san.so*", "gconv", "gprofng", "ldscripts", "libgprofng*", "libisl*", "libperl*", "perl*"].map(
    (pattern) => `./usr/lib/*-linux-gnu/${pattern}`,
  ),
  "./usr/lib/python3/dist-packages/*",
  "./usr/lib/python3.*/__pycache__/*.opt-*",
  ...["asyncio", "distutils", "email", "ensurepip", "html", "http", "idlelib", "lib2to3", "logging", "multiprocessing", "pydoc_data"].map(
    (name) => `./usr/lib/python3.*/${name}`,
  ),
  ...["sqlite3", "test", "unittest", "wsgiref", "xml", "xmlrpc"].map((name) => `./usr/lib/python3.*/${name}`),
  ...["bin", "include", "lib"].map((name) => `./usr/local/${name}/*`),
  "./usr/share/*",
  ...["cache", "lib/apt", "lib/dpkg/info"].map((name) => `./var/${name}/*`),
] as const;

/** Meta package of Debian 12's kernel for cloud machines; it depends on the package of the current kernel. */
export const KERNEL_META_PACKAGE = "linux-image-cloud-amd64";
