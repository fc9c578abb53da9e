import { SETTINGS } from "@boxyard/spec/config";
import { printable, type ServerConfig } from "../../config.ts";

/** A setting of the server and its value in force. */
interface SettingInForce {
  readonly name: string;
  readonly meaning: string;
  readonly default: string;
}

/** The settings of the server as they are in force, and what each variable means. Of a secret, only whether it is set. */
export function settingsInForce(config: ServerConfig): { inForce: Record<string, unknown>; variables: SettingInForce[] } {
  const variables = SETTINGS.filter(({ usedBy }) => usedBy !== "client").map(({ name, meaning, default: byDefault }) => ({
    name,
    meaning,
    default: byDefault,
  }));
  return { inForce: printable(config), variables };
}
