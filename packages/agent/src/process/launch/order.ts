/** What is to be started, and how. */
export interface LaunchOrder {
  /** Directory of the command's cgroup; undefined leaves it in the agent's. */
  readonly cgroup: string | undefined;
  readonly user: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] };
  readonly cwd: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors 0, 1 and 2 of the command. Null is /dev/null. They stay the caller's to close. */
  readonly stdio: readonly [number | null, number, number];
  /** The command leads a session whose terminal is descriptor 0. */
  readonly terminal: boolean;
}

/** The texts of an order, as images/guest/launch/order.c reads them. None of the order's own holds a NUL. */
export function orderTexts(id: number, order: LaunchOrder): Uint8Array {
  const { uid, gid, groups } = order.user;
  const texts = [
    id,
    order.terminal ? "t" : "-",
    order.cgroup ?? "-",
    uid,
    gid,
    groups.join(",") || "-",
    order.cwd,
    order.command.length,
    ...order.command,
  ];
  for (const name in order.env) texts.push(`${name}=${order.env[name]}`);
  return Buffer.from(`${texts.join("\0")}\0`);
}
