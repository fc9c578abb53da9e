import type { Sandbox } from "@boxyard/sdk";

/** Arguments of one command in the sandbox. */
const AT_ONCE = 500;
/** For each path the text of its link and a NUL; nothing before the NUL where there is none to be read. */
const SCRIPT = 'for link do readlink -n -- "$link" || :; printf "\\0"; done';

/**
 * The targets of symbolic links by their paths, as `readlink` prints them: a listing has only the path to which a link resolves. Links are missing
 * that cannot be read, and all of them in an image without a shell. The caller must check a target before it makes a local link of it.
 */
export async function readLinks(sandbox: Sandbox, paths: readonly string[], user: string | undefined): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const batch = paths.slice(at, at + AT_ONCE);
    const handle = await sandbox.commands.spawn(["sh", "-c", SCRIPT, "sh", ...batch], { user });
    const { exitCode } = await handle.waitForEnd();
    const answers = handle.stdout.split("\0");
    if (exitCode !== 0 || answers.length !== batch.length + 1) continue;
    batch.forEach((path, i) => {
      if (answers[i]) texts.set(path, answers[i]);
    });
  }
  return texts;
}
