import type { ImageFacts } from "../index.ts";

/** Settings of an image that sets nothing. */
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
