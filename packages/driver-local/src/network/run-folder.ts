export const RUN_FOLDER = "/run/boxyard";
