import type { ImageFacts } from "../index.ts";

/** An image that asks for nothing. */
export const NO_SETTINGS: ImageFacts["settings"] = {
  user: "",
  workdir: "",
  env: {},
  entrypoint: [],
  cmd: [],
  shell: [],
  labels: {},
  exposedPorts: [],
  stopSignal: "",
};
