import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

/** The newest sample, and samples of a range: an empty list before the create, an error for a range that ends before it begins. */
export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    const began = new Date();
    // One for each processor: on a busy machine a single one gets only a small part of one processor.
    for (let i = 0; i < 2; i++) await sandbox.commands.run("python3 -c 'while True: pass'", { background: true });
    const busy = async () => (await sandbox.getMetrics()).find(({ cpuUsedPct }) => cpuUsedPct > 5);
    const sample = await eventually("a sample shows the program", busy, 30_000);
    const { cpuCount, memTotal, diskTotal } = sample;
    assert.deepEqual({ cpuCount, memTotal, isDate: sample.timestamp instanceof Date }, { cpuCount: 2, memTotal: 2 ** 30, isDate: true });
    assert.ok(sample.memUsed > 0 && sample.memUsed < memTotal && sample.diskUsed <= diskTotal);
    // The newest sample is measured when it is asked for; a range has those of every few seconds.
    const inRange = async () => {
      const found = await sandbox.getMetrics({ start: began, end: new Date() });
      return found.length > 0 && found;
    };
    const samples = await eventually("the range has samples", inRange, 30_000);
    assert.deepEqual(
      samples.map(({ timestamp }) => timestamp.getTime()),
      samples.map(({ timestamp }) => timestamp.getTime()).sort((a, b) => a - b),
    );
    const early = new Date(began.getTime() - 3_600_000);
    assert.deepEqual(await sandbox.getMetrics({ start: early, end: new Date(began.getTime() - 60_000) }), []);
    await assert.rejects(sandbox.getMetrics({ start: began, end: early }), (error) => /start: must not be after end/.test(error.message));
  });
}
