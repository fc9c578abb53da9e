/**
 * What stands in the guest's Debian tree: what set-up installs on a user's machine and sandboxes need (it cannot reach a mirror from in there), and
 * the tools of the tests. Without apt: set-up, which looks for CRIU, finds at once that there is no way to get it.
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
 * Programs that set-up only looks for in the guest, because what they make comes from the host. They are hundreds of megabytes, so there are empty
 * programs in their place, which fail.
 */
export const ABSENT_PROGRAMS = ["gcc", "mmdebstrap", "musl-gcc", "tini-static"] as const;

/**
 * What stands in the sandboxes of the guest: less than in the real base template, because everything is slow under emulation, and enough
 * for the tests of the driver.
 */
export const SANDBOX_PACKAGES = ["passwd", "python3", "procps", "iproute2", "sudo"] as const;

/** What no test uses of these packages, as patterns of a shell: under emulation set-up needs a minute of CPU time to import all of it. */
export const LEFT_OUT_OF_SANDBOXES = [
  "usr/share/{bash-completion,bug,common-licenses,doc,doc-base,info,lintian,locale,man,perl,perl5,zoneinfo}",
  "usr/lib/*-linux-gnu/{gconv,perl,perl-base,perl5,libperl*}",
  "usr/bin/perl*",
  "usr/lib/python3*/{asyncio,distutils,email,ensurepip,html,http,idlelib,lib2to3,logging,multiprocessing,pydoc_data,sqlite3,test,unittest,wsgiref,xml,xmlrpc}",
  "usr/lib/python3*/__pycache__/*.opt-*",
  "var/lib/dpkg/info/*",
] as const;

/** Debian 12's stock kernel for cloud machines; the meta package names the current one. */
export const KERNEL_META_PACKAGE = "linux-image-cloud-amd64";
