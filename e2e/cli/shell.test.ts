import { expect, test } from "bun:test";
import { usePlatform } from "../support/platform.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";
import { Terminal } from "./tmux.ts";

const platform = usePlatform();
/** Wider than the commands that are typed: a line that fills the terminal exactly is drawn twice by bash, and numbers of processes are in its paths. */
const open = () => Terminal.open(platform().env, { cols: 140, rows: 30 });

test("a shell has the window's size, follows it, passes Ctrl-C on, and its exit code is ours", async () => {
  await using terminal = await open();
  await terminal.type(`${BOXYARD} shell; echo "ended with $?"`);
  await terminal.shows(/user@i\w+:~\$$/m);
  await terminal.type("stty size; echo $TERM");
  await terminal.shows(/^30 140\nxterm-256color$/m);
  await terminal.resize(120, 40);
  // The size travels beside the keys and may come after them.
  await terminal.type('until [ "$(stty size)" = "40 120" ]; do sleep 0.1; done; echo resized');
  await terminal.shows(/^resized$/m);
  await terminal.type("sleep 1000");
  await terminal.shows(/sleep 1000$/m);
  await terminal.key("C-c");
  await terminal.type("echo code $?");
  await terminal.shows(/^code 130$/m);
  await terminal.type("exit 5");
  await terminal.shows(/^ended with 5$/m);
  // Our own terminal is as before: what is typed shows, and a line is a line.
  await terminal.type("echo typed");
  await terminal.shows(/\$ echo typed\ntyped$/m);
  expect((await platform().api({ path: "/v2/sandboxes" })).body).toEqual([]);
}, 60_000);

test("a detached session is found again, and its full-screen program is drawn again", async () => {
  await using sandbox = await sandboxOf(platform(), ["--timeout", "10m"]);
  await using terminal = await open();
  const shell = `${BOXYARD} shell ${sandbox.id}`;
  await terminal.type(`${shell}; echo "ended with $?"`);
  await terminal.shows(/user@i\w+:~\$$/m);
  await terminal.type("export KEPT=yes; vim poem.txt");
  await terminal.shows(/^~\n~\n/m);
  await terminal.type("iroses are red", false);
  await terminal.key("Escape");
  await terminal.shows(/^roses are red$/m);
  await terminal.key("C-]");
  await terminal.type("d", false);
  await terminal.shows(/^detached; `boxyard shell .* --attach \d+` reconnects$/m);
  await terminal.shows(/^ended with 0$/m);
  await terminal.type("clear");
  await terminal.shows(/^\$$/);
  await terminal.type(`${shell} --attach; echo "ended with $?"`);
  await terminal.shows(/^roses are red$/m);
  // vim follows the window: with its first line and its status line, a line for each of the rest.
  await terminal.resize(90, 20);
  await terminal.shows(/^roses are red\n(~\n){18}[^~]/);
  await terminal.type(":wq");
  await terminal.shows(/user@i\w+:~\$$/m);
  await terminal.type("echo kept=$KEPT; cat poem.txt; exit 3");
  await terminal.shows(/^kept=yes\nroses are red\n/m);
  await terminal.shows(/^ended with 3$/m);
  await terminal.type(`clear; ${shell} --attach; echo "again $?"`);
  await terminal.shows(/^error: no session to reconnect to in this sandbox\nagain 125$/m);
}, 60_000);

test("the kill of a sandbox ends the session with a message, and restores the terminal", async () => {
  await using sandbox = await sandboxOf(platform());
  await using terminal = await open();
  await terminal.type(`${BOXYARD} shell ${sandbox.id}; echo "ended with $?"`);
  await terminal.shows(/user@i\w+:~\$$/m);
  await boxyard(platform(), ["sandbox", "kill", sandbox.id]);
  await terminal.shows(/the sandbox is not running any more/m);
  await terminal.shows(/^ended with 125$/m);
  await terminal.type("echo typed");
  await terminal.shows(/\$ echo typed\ntyped$/m);
}, 60_000);
