/**
 * What stands in the guest's Debian tree: what set-up installs on a user's machine (it cannot reach a mirror from in there), and the
 * tools of the tests.
 */
export const GUEST_PACKAGES = [
  "btrfs-progs",
  "busybox-static",
  "ca-certificates",
  "crun",
  "gcc",
  "iproute2",
  "kmod",
  "mmdebstrap",
  "mount",
  "musl-tools",
  "nftables",
  "procps",
  "python3-minimal",
  "runc",
  "tini",
  "util-linux",
  "xz-utils",
] as const;

/**
 * What stands in the sandboxes of the guest: less than in the real base template, because everything is slow under emulation, and enough
 * for the tests of the driver.
 */
export const SANDBOX_PACKAGES = ["passwd", "python3", "procps", "iproute2", "sudo"] as const;

/** Debian 12's stock kernel for cloud machines; the meta package names the current one. */
export const KERNEL_META_PACKAGE = "linux-image-cloud-amd64";
