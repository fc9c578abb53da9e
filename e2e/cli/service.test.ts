import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTestConfig, runProgram } from "@boxyard/testkit";
import { block } from "../support/documents.ts";
import { BOXYARD } from "./support.ts";

const config = readTestConfig();
const directory = mkdtempSync(join(tmpdir(), "boxyard-service-"));
const env = { ...config.env, BOXYARD_DATA: config.dataDir, BOXYARD_CACHE: config.cacheDir, BOXYARD_LISTEN: "127.0.0.1:0" };

afterAll(async () => {
  await runProgram([BOXYARD, "down", "--sandboxes"], { env });
  rmSync(directory, { recursive: true, force: true });
});

/**
 * Stands in for systemctl: runs what the unit's Exec lines say with the settings of its EnvironmentFile, and ends the main process alone, as
 * KillMode=process has it. As systemd does with Type=exec, it waits for nothing that the program does. systemd-analyze checks the unit.
 */
const SYSTEMCTL = `#!/bin/sh
set -e
unit=/etc/systemd/system/boxyard.service
state=${directory}/state
line() { sed -n "s/^$1=//p" "$unit"; }
case "$*" in
  daemon-reload) ;;
  "enable --now boxyard.service")
    set -a; . "$(line EnvironmentFile)"; set +a
    eval "$(line ExecStartPre)" >&2
    eval "setsid $(line ExecStart) >>$state/log 2>&1 </dev/null &"
    touch $state/enabled ;;
  "disable --now boxyard.service")
    [ -e $state/enabled ] || exit 1
    rm $state/enabled
    kill "$(sed -n 's/.*"pid":\\([0-9]*\\).*/\\1/p' ${config.dataDir}/server.json)"
    while [ -e ${config.dataDir}/server.json ]; do sleep 0.1; done ;;
  "is-active boxyard.service") [ -e $state/enabled ] && echo active || { echo inactive; exit 3; } ;;
  "is-enabled boxyard.service") [ -e $state/enabled ] ;;
  *) echo "unexpected: $*" >&2; exit 9 ;;
esac
`;

/** Commands of a script on a machine that systemd seems to run, whose units are this test's own; all in a mount namespace that ends with it. */
function onSystemdMachine(script: string) {
  mkdirSync(join(directory, "bin"), { recursive: true });
  mkdirSync(join(directory, "state"), { recursive: true });
  mkdirSync(join(directory, "units"), { recursive: true });
  writeFileSync(join(directory, "bin/systemctl"), SYSTEMCTL, { mode: 0o755 });
  const mounts = `mount --bind ${directory}/units /etc/systemd/system; mount -t tmpfs none /run/systemd; mkdir /run/systemd/system`;
  const whole = `set -e; mkdir -p /run/systemd; ${mounts}; export PATH=${directory}/bin:$PATH; ${script}`;
  return runProgram(["unshare", "--mount", "sh", "-c", whole], { env, limitMs: 120_000 });
}

/** The commands of docs/production.md, at any free port. */
const [INSTALL, STATUS, REMOVE] = block("docs/production.md", "sh", "service install")
  .replaceAll("sudo ", "")
  .replaceAll("./boxyard", BOXYARD)
  .replace("127.0.0.1:3000", "127.0.0.1:0")
  .split("\n");

test("service install starts the server from a unit, which systemd finds in order; sandboxes outlive remove", async () => {
  const ended = await onSystemdMachine(`
    ${BOXYARD} service status || echo "rc $?"
    ${INSTALL}
    ${STATUS}
    cp /etc/systemd/system/boxyard.service ${directory}/seen.service
    stat -c %a ${config.dataDir}/service.env
    systemd-analyze verify ${directory}/seen.service
    id=$(${BOXYARD} sandbox create)
    ${REMOVE}
    test -e ${config.dataDir}/service.env || echo "nothing left: $(ls /etc/systemd/system)"
    ${BOXYARD} service status || echo "rc $?"
    ${BOXYARD} exec $id -- echo "still there"
  `);
  const lines = ended.stdout.trimEnd().split("\n");
  expect({ exitCode: ended.exitCode, lines }).toEqual({
    exitCode: 0,
    lines: [
      `There is no service boxyard for ${config.dataDir}.`,
      "rc 4",
      expect.stringMatching(/^The service boxyard is installed; the server runs at http:\/\/127\.0\.0\.1:\d+\.$/),
      "service  boxyard: active, starts at boot",
      "unit     /etc/systemd/system/boxyard.service",
      expect.stringMatching(/^server {3}http:\/\/127\.0\.0\.1:\d+ \(pid \d+\)$/),
      "600",
      "The service boxyard is removed. Sandboxes keep running; `boxyard up -d` starts a server by hand.",
      "nothing left: ",
      `There is no service boxyard for ${config.dataDir}.`,
      "rc 4",
      "still there",
    ],
  });
  expect(ended.stderr).not.toContain("seen.service:");
  expect(readFileSync(join(directory, "seen.service"), "utf8")).toMatch(/^KillMode=process\nDelegate=yes$/m);
}, 150_000);

test("without systemd it says so, and shows the unit anyway", async () => {
  const none = await runProgram([BOXYARD, "service", "install"], { env });
  expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining("error: systemd does not run this machine\n")]);
  expect((await runProgram([BOXYARD, "service", "install", "--print"], { env })).stdout).toContain("[Service]\n");
}, 60_000);
