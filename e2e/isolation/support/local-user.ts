import { runProgram } from "@boxyard/testkit";

/** Where a directory is shown to the attacker, in a mount namespace of the attempt's own: no directory above it may be what protects it. */
const SHOWN = "/mnt";

/** Asks the kernel for each path that it is given, and prints what it could read or write. A link is asked for by its target. */
const LOOK = `for path; do
  if [ -r "$path" ]; then echo "read $path"; fi
  if [ -w "$path" ]; then echo "write $path"; fi
done`;

/** The command that runs another one as `nobody`, without root's groups and capabilities. */
export const AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"] as const;

/** What of a directory, itself included, the user `nobody` may read or write, one line each. All of it is tried, also below what is closed. */
export async function seenByNobody(directory: string): Promise<string[]> {
  const paths = await runProgram(["find", directory, "-printf", `${SHOWN}/%P\\0`], { limitMs: 60_000 });
  const show = `mount --make-rprivate / && mount --rbind "$1" ${SHOWN} && shift && exec "$@"`;
  const look = [...AS_NOBODY, "xargs", "--null", "sh", "-c", LOOK, "sh"];
  const argv = ["unshare", "--mount", "sh", "-ec", show, "sh", directory, ...look];
  const { exitCode, stdout, stderr } = await runProgram(argv, { stdin: paths.stdout, limitMs: 60_000 });
  if (exitCode !== 0) throw new Error(`the attempt as nobody failed: ${stderr}`);
  return stdout.split("\n").filter((line) => line !== "");
}

/** What a TCP connection comes to that a user of the machine opens, within two seconds. */
export async function connectAs(user: "root" | "nobody", address: string, port: number): Promise<"open" | "refused" | "no answer"> {
  const connect = ["timeout", "2", "bash", "-c", `exec 3<>/dev/tcp/${address}/${port}`];
  const { exitCode } = await runProgram(user === "root" ? connect : [...AS_NOBODY, ...connect]);
  return exitCode === 0 ? "open" : exitCode === 124 ? "no answer" : "refused";
}
