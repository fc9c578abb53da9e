import { raiseSettings, settingsTooLow } from "../kernel-settings.ts";
import type { Stage } from "../types.ts";

export const kernel: Stage = {
  name: "kernel",
  title: "kernel settings",
  key: () => "1",
  isDone: () => settingsTooLow().length === 0,
  async run(_config, report) {
    const changes = raiseSettings();
    report.result(changes.length === 0 ? "nothing to change" : changes.map(({ name, after }) => `${name}=${after}`).join(", "));
  },
};
