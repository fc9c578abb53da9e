export const RUN_DIRECTORY = "/run/boxyard";
