import { AppError } from "@boxyard/core";

export interface UnitInput {
  /** The server's program in its roles. */
  readonly setup: readonly string[];
  readonly serve: readonly string[];
  readonly dataDir: string;
  readonly environmentFile: string;
}

/** One word of an Exec line (systemd.service(5), "Command lines"): quoted, with specifiers and variables taken as text. */
function execWord(word: string): string {
  if (/[\n\r\0]/.test(word)) throw new AppError("invalid_argument", "a path of the service holds a line end", { reason: "bad_path" });
  return `"${word.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
}

/**
 * The unit of the server. Sandboxes are no children of the unit's main process as far as systemd is concerned: at a stop only the server ends
 * (`KillMode=process`), and the next server adopts them. With `Delegate` systemd leaves alone the cgroups that the server makes.
 */
export function unitText({ setup, serve, dataDir, environmentFile }: UnitInput): string {
  const line = (words: readonly string[]) => words.map(execWord).join(" ");
  return `# Written by \`boxyard service install\` for ${dataDir.replaceAll(/\s/g, " ")}; \`boxyard service remove\` removes it.
[Unit]
Description=Boxyard
After=network-online.target local-fs.target
Wants=network-online.target

[Service]
Type=exec
EnvironmentFile=${environmentFile.replaceAll("%", "%%")}
ExecStartPre=${line(setup)}
ExecStart=${line(serve)}
KillMode=process
Delegate=yes
Restart=on-failure
RestartSec=2
TimeoutStartSec=30min
TimeoutStopSec=1min
TasksMax=infinity
LimitNOFILE=1048576

[Install]
WantedBy=multi-user.target
`;
}

/** Variables that belong to a client, not to the server. */
const CLIENTS_OWN = /^BOXYARD_(API_URL|API_KEY|SANDBOX_URL)$/;

/** The server's settings as an environment file of systemd: those of the environment that the service is installed from. */
export function environmentText(env: Readonly<Record<string, string | undefined>>, dataDir: string): string {
  const wanted = Object.entries({ ...env, BOXYARD_DATA: dataDir })
    .filter(([name]) => (name.startsWith("BOXYARD_") && !CLIENTS_OWN.test(name)) || name === "DATABASE_URL" || name === "PATH")
    .filter((entry): entry is [string, string] => Boolean(entry[1]))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = wanted.map(([name, value]) => {
    if (/[\n\r\0]/.test(value)) throw new AppError("invalid_argument", `${name} holds a line end`, { reason: "bad_setting" });
    return `${name}="${value.replaceAll(/[\\"$`]/g, "\\$&")}"\n`;
  });
  return lines.join("");
}
