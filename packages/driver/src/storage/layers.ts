/** The existing layers. */
export interface LayerStorage {
  hasLayer(digest: string): Promise<boolean>;
  /** Facts of one layer. `not_found`, reason `layer_not_found`, when there is none. */
  getLayer(digest: string): Promise<LayerInfo>;
  /** Every whole layer, in no order. */
  listLayers(): Promise<readonly LayerInfo[]>;
  /** Repeatable; succeeds when there is none. Throws `failed_precondition`, reason `layer_in_use` (`StorageDriver`). */
  removeLayer(digest: string): Promise<void>;
}

export interface LayerInfo {
  /** `sha256:<64 hex>` of the uncompressed tar. */
  readonly digest: string;
  /** Bytes of the uncompressed tar. */
  readonly sizeBytes: number;
  /** When it was made on this machine, milliseconds since 1970. */
  readonly createdAt: number;
}

export interface MakeLayerOptions {
  /** Aborting leaves nothing and rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Most bytes of the uncompressed tar; `DEFAULT_MAX_LAYER_BYTES` by default. */
  readonly maxBytes?: number;
  /** Most entries of the tar; `DEFAULT_MAX_LAYER_ENTRIES` by default. */
  readonly maxEntries?: number;
}
