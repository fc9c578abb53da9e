/** The layers that there are. */
export interface LayerStorage {
  hasLayer(digest: string): Promise<boolean>;
  /** Facts of one layer. `not_found`, reason `layer_not_found`, when there is none. */
  getLayer(digest: string): Promise<LayerInfo>;
  /** Every whole layer, in no order. */
  listLayers(): Promise<readonly LayerInfo[]>;
  removeLayer(digest: string): Promise<void>;
}

export interface LayerInfo {
  /** `sha256:<64 hex>` of the uncompressed tar. */
  readonly digest: string;
  /** Bytes of the uncompressed tar. */
  readonly sizeBytes: number;
  /** When it came into being here, milliseconds since 1970. */
  readonly createdAt: number;
}
