export { importLayer } from "./import-layer.ts";
export { LayerStore } from "./layer-store.ts";
export { LocalImages, MAX_LAYERS, type SandboxSource } from "./local-images.ts";
export { sweepMaking } from "./making.ts";
