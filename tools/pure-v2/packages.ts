/**
 * Packages of the guest's Debian tree: those that set-up installs on a user's machine (the guest cannot reach a mirror), and the tools of the tests.
 * apt is not one of them, so that set-up sees at once that it cannot install CRIU.
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
export const ABSENT_PROGRAMS = ["gcc", "mmdebstrap", "musl-gcc", "tini-static"] as const;

/**
 * Packages of the sandboxes in the guest: enough for the tests of the driver, and fewer than in the real base template, because emulation is slow.
 */
export const SANDBOX_PACKAGES = ["passwd", "python3", "procps", "iproute2", "sudo"] as const;

/** Shell patterns for files of these packages that no test uses: under emulation set-up would need a minute of CPU time to import them all. */
export const LEFT_OUT_OF_SANDBOXES = [
  "usr/share/{bash-completion,bug,common-licenses,doc,doc-base,info,lintian,locale,man,perl,perl5,zoneinfo}",
  "usr/lib/*-linux-gnu/{gconv,perl,perl-base,perl5,libperl*}",
  "usr/bin/perl*",
  "usr/lib/python3*/{asyncio,distutils,email,ensurepip,html,http,idlelib,lib2to3,logging,multiprocessing,pydoc_data,sqlite3,test,unittest,wsgiref,xml,xmlrpc}",
  "usr/lib/python3*/__pycache__/*.opt-*",
  "var/lib/dpkg/info/*",
] as const;

/** Meta package of Debian 12's kernel for cloud machines; it depends on the package of the current kernel. */
export const KERNEL_META_PACKAGE = "linux-image-cloud-amd64";
