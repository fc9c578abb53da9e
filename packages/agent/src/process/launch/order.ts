/** A command for `launch` to start. */
export interface LaunchOrder {
  /** Directory of the command's cgroup; undefined leaves it in the agent's. */
  readonly cgroup: string | undefined;
  readonly user: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] };
  readonly cwd: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors 0, 1 and 2 of the command; null is /dev/null. The caller closes them. */
  readonly stdio: readonly [number | null, number, number];
  /** The command leads a session whose terminal is descriptor 0. */
  readonly terminal: boolean;
}

/** Encodes an order as native/guest/launch/order.c reads it: texts, each ended by a NUL. No text of the order holds a NUL. */
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
