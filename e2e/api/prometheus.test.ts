import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, eventually, freePort, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
const DOCS = join(CHECKOUT, "docs/prometheus");

interface Answer {
  readonly status: string;
  readonly data: {
    readonly result: { readonly value: [number, string] }[];
    readonly groups: { readonly rules: { readonly health: string }[] }[];
  };
}

test("Debian's Prometheus scrapes the server with the configuration, the alerts and the queries of docs/prometheus", async () => {
  const directory = mkdtempSync(join(tmpdir(), "prometheus-"));
  const rules = join(DOCS, "alerts.yml");
  const config = join(directory, "prometheus.yml");
  writeFileSync(join(directory, "key"), platform().apiKey, { mode: 0o600 });
  const given = readFileSync(join(DOCS, "prometheus.yml"), "utf8")
    .replace("/etc/prometheus/boxyard-key", join(directory, "key"))
    .replace("/etc/prometheus/boxyard-alerts.yml", rules)
    .replace("127.0.0.1:3000", new URL(platform().apiUrl).host)
    .replace("15s", "1s");
  writeFileSync(config, given);
  const port = await freePort();
  const argv = [
    "prometheus",
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(directory, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const checked = await runProgram(["promtool", "check", "config", config]);
  expect([checked.exitCode, checked.exitCode === 0 ? "" : checked.stderr]).toEqual([0, ""]);
  const prometheus = Bun.spawn(argv, { stdout: "ignore", stderr: "ignore", cwd: directory });
  try {
    const ask = async (path: string) => (await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()) as Answer;
    const query = (text: string) => ask(`query?query=${encodeURIComponent(text)}`);
    await using _sandbox = await createSandbox(platform());
    const running = async () =>
      Number((await query('boxyard_sandboxes{state="running"}').catch(() => undefined))?.data.result[0]?.value[1] ?? 0);
    await eventually("the scrape shows the sandbox", async () => (await running()) >= 1, { withinMs: 60_000 });
    const created = 'boxyard_transition_seconds_count{transition="create",result="ok"}';
    expect(Number((await query(created)).data.result[0]?.value[1])).toBeGreaterThan(0);
    const dashboard = JSON.parse(readFileSync(join(DOCS, "dashboard.json"), "utf8")) as {
      panels: { title: string; targets: { expr: string }[] }[];
    };
    for (const { title, targets } of dashboard.panels) {
      for (const { expr } of targets)
        expect([title, (await query(expr.replaceAll("$__rate_interval", "1m"))).status]).toEqual([title, "success"]);
    }
    const health = async () => (await ask("rules")).data.groups.flatMap((group) => group.rules.map((rule) => rule.health));
    await eventually("every alert has been evaluated", async () => (await health()).every((one) => one === "ok"), { withinMs: 90_000 });
  } finally {
    prometheus.kill("SIGKILL");
    await prometheus.exited;
    rmSync(directory, { recursive: true, force: true });
  }
}, 180_000);
