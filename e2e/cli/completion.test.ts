import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { usePlatform } from "../support/platform.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";
import { Terminal } from "./tmux.ts";

const platform = usePlatform();
/** A home with `boxyard` on the path and two files to complete. */
const home = mkdtempSync(join(tmpdir(), "boxyard-completion-"));
beforeAll(() => {
  mkdirSync(join(home, "bin"));
  symlinkSync(BOXYARD, join(home, "bin/boxyard"));
  // Without this directory, the first fish of a home converts all manual pages of the machine, beside its prompt, in 20 s of CPU time.
  mkdirSync(join(home, ".local/share/fish/generated_completions"), { recursive: true });
  mkdirSync(join(home, "work"));
  writeFileSync(join(home, "work/letter.txt"), "");
});
afterAll(() => rmSync(home, { recursive: true }));

interface Setting {
  /** Where the script goes. */
  readonly install: string;
  readonly start: string;
  /** What is typed first. */
  readonly setUp?: string;
}

/** How each shell is started with nothing of its own but our script, installed as the help of `completion` says. */
const SHELLS: Readonly<Record<string, Setting>> = {
  bash: { install: join(home, "boxyard.bash"), start: `. ${join(home, "boxyard.bash")}` },
  zsh: {
    install: join(home, "_boxyard"),
    start: `exec zsh -f`,
    setUp: `PS1='$ ' fpath=(${home} $fpath); autoload -U compinit; compinit -u -D`,
  },
  fish: {
    install: join(home, ".config/fish/completions/boxyard.fish"),
    start: "exec fish --private",
    setUp: "function fish_prompt; echo '$ '; end; set fish_greeting",
  },
};

for (const [shell, { install, start, setUp }] of Object.entries(SHELLS)) {
  test(`${shell} completes commands, options, ids of sandboxes, names of templates, and files`, async () => {
    const script = await boxyard(platform(), ["completion", shell]);
    mkdirSync(join(install, ".."), { recursive: true });
    writeFileSync(install, script.stdout);
    await using sandbox = await sandboxOf(platform());
    // Without XDG_RUNTIME_DIR, fish makes a directory in /tmp.
    const env = { ...platform().env, HOME: home, XDG_RUNTIME_DIR: home, PATH: `${join(home, "bin")}:${process.env.PATH}` };
    await using terminal = await Terminal.open(env, { cols: 110, rows: 40 });
    await terminal.type(`cd ${join(home, "work")}; ${start}`);
    if (setUp) await terminal.type(setUp);
    await terminal.type("clear; echo rea''dy");
    await terminal.shows(/^ready$/m);
    /** What stands after `text` and Tab; the line is thrown away. */
    const completes = async (text: string, to: RegExp) => {
      await terminal.type(text, false);
      await terminal.key("Tab");
      await terminal.shows(to);
      await terminal.key("C-c");
      await terminal.type("clear");
    };
    await completes("boxyard sandb", /boxyard sandbox/);
    await completes("boxyard sandbox metr", /boxyard sandbox metrics/);
    await completes("boxyard sandbox logs --lev", /boxyard sandbox logs --level/);
    await completes("boxyard exec i", new RegExp(`boxyard exec ${sandbox.id}`));
    await completes("boxyard run -t ba", /boxyard run -t base/);
    await completes("boxyard cp let", /boxyard cp letter\.txt/);
    await completes(`boxyard cp letter.txt ${sandbox.id.slice(0, 5)}`, new RegExp(`boxyard cp letter.txt ${sandbox.id}:`));
    expect(script.stderr).toBe("");
  }, 60_000);
}
