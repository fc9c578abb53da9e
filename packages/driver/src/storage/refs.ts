/** An image as the platform names it: an OCI image whose layers the driver can find by digest. */
export interface ImageRef {
  /** Digest that names the whole image, `sha256:<64 hex>`; a registry knows it by this. */
  readonly digest: string;
  /** Digests of its layers, lowest first. */
  readonly layers: readonly string[];
}

/** The snapshot from which a sandbox starts, instead of an empty disk and a boot. */
export interface SnapshotRef {
  readonly snapshot: string;
  /** True: its processes go on. A snapshot without memory: `failed_precondition`, reason `no_memory_snapshot`. */
  readonly memory: boolean;
}
