/** A Debian package that sandboxes or their set-up need. */
export interface NeededPackage {
  readonly name: string;
  /** A program of the package; the package counts as installed when this program is found. */
  readonly program: string;
  readonly purpose: string;
  /** Needed only to compile the guest bundle and the fork server; the single executable carries compiled ones. */
  readonly compiles?: true;
}

/** Everything that set-up installs, with its reason. Parts of every Debian (tar, mount, setpriv, …) are not listed. */
export const NEEDED: readonly NeededPackage[] = [
  { name: "crun", program: "crun", purpose: "makes and starts the sandboxes" },
  { name: "btrfs-progs", program: "mkfs.btrfs", purpose: "makes the storage pool" },
  { name: "nftables", program: "nft", purpose: "keeps the sandboxes' network apart" },
  { name: "iproute2", program: "ip", purpose: "shows the sandboxes' network to people and to doctor" },
  { name: "musl-tools", program: "musl-gcc", purpose: "compiles the helpers that start sandboxes and their commands", compiles: true },
  { name: "gcc", program: "gcc", purpose: "compiles the helpers that start sandboxes and their commands", compiles: true },
  { name: "mmdebstrap", program: "mmdebstrap", purpose: "builds the base template from Debian packages" },
  { name: "ca-certificates", program: "update-ca-certificates", purpose: "lets TLS connections be checked" },
  { name: "kmod", program: "modprobe", purpose: "loads btrfs, overlay and nftables where they are modules" },
];
