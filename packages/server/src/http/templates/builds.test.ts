import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { eventually, staysTrueFor } from "@boxyard/testkit";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let bench: BuildBench;
beforeAll(async () => {
  s = await TestServer.start({ env: { BOXYARD_MAX_BUILDS: "2", BOXYARD_MAX_QUEUED_BUILDS: "3" } });
});
afterAll(() => s[Symbol.asyncDispose]());
beforeEach(() => {
  bench = new BuildBench(s);
});

const HASH = "a".repeat(64);
const run = (command: string, extra: object = {}) => ({ type: "RUN", args: [command], ...extra });
const strip = (lines: string[]) => lines.map((line) => line.replace(/ \[[0-9a-f]{16}\]$/, ""));

describe("a build", () => {
  test("goes from its base through its steps to a template that can be started", async () => {
    bench.answer = ({ args }) => (args.at(-1) === "make" ? { stdout: "made\n50%\r100%\n", stderr: "warned" } : undefined);
    const { of, ...ended } = await bench.build("whole", {
      steps: [
        { type: "ENV", args: ["A", "1", "B", "$A!"] },
        { type: "WORKDIR", args: ["/app"] },
        run("make"),
        { type: "RUN", args: ["as root", "root"] },
      ],
    });
    expect(ended).toMatchObject({ templateID: of.templateID, buildID: of.buildID, status: "ready", logs: [] });
    expect("reason" in ended).toBe(false);
    expect(strip(await bench.log(of))).toEqual([
      "[base] FROM base:default",
      "[builder 1/4] ENV A 1 B $A!",
      "[builder 2/4] WORKDIR /app",
      "[builder 3/4] RUN make",
      "[builder 3/4] [stdout]: made",
      "[builder 3/4] [stdout]: 100%",
      "[builder 3/4] [stderr]: warned",
      "[builder 4/4] RUN as root root",
      "[finalize] Finalizing template",
      "Build finished, took 0s",
    ]);
    expect(bench.ran).toEqual([
      { cmd: "/bin/bash", args: ["-l", "-c", "make"], envs: { FROM_TEMPLATE: "1", A: "1", B: "!" }, cwd: "/app", user: "user" },
      { cmd: "/bin/bash", args: ["-l", "-c", "as root"], envs: { FROM_TEMPLATE: "1", A: "1", B: "!" }, cwd: "/app", user: "root" },
    ]);
    expect(s.world.sandboxes.size).toBe(0);
    const { sandboxID } = await s.create({ templateID: "whole" });
    const sandbox = s.world.sandboxes.get(sandboxID);
    expect(sandbox?.agent?.inits[0]).toMatchObject({ envVars: { A: "1", B: "!" }, defaultUser: "user", defaultWorkdir: "/app" });
    expect(sandbox?.spec.image.layers.length).toBeGreaterThan(1);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
  });

  test("takes null for absent, however deep", async () => {
    const { status } = await bench.build("nulls-inside", {
      fromTemplate: null,
      startCmd: null,
      steps: [
        { type: "RUN", args: ["true"], filesHash: null, force: null, from: null, env: null },
        { type: "ENV", args: ["A", "1"], secrets: null, sources: null },
      ],
      stages: [{ name: "one", fromImage: "e2bdev/base", fromTemplate: null, steps: null }],
    });
    expect(status).toBe("ready");
    const refused = await bench.start(await bench.request("null-command"), { steps: [{ type: "RUN", args: [null] }] });
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining("steps.0.args.0")]);
  });

  test("that asks for more processors than there are gets what there are, and says so", async () => {
    const of = await bench.request("large", { cpuCount: 2147483647 });
    await bench.start(of);
    expect((await bench.ended(of)).status).toBe("ready");
    const most = Math.max(2, availableParallelism());
    expect(await bench.log(of)).toContain(`cpuCount: 2147483647 is more than this machine has; sandboxes get ${most}`);
    expect((await s.call("GET", "/templates/large")).body).toMatchObject({ cpuCount: most, builds: [{ cpuCount: most }] });
    const { sandboxID } = await s.create({ templateID: "large" });
    expect(s.world.sandboxes.get(sandboxID)?.spec.resources.cpuCount).toBe(most);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
  });

  test("has the disk that it asks for, at least what must be free, and no more than the pool has", async () => {
    const disk = async (name: string, wanted: Record<string, number>) => {
      const { of, status } = await bench.build(name, { steps: [run(name)] }, wanted);
      const { sandboxID } = await s.create({ templateID: name });
      const { diskSizeMB } = (await s.call("GET", `/sandboxes/${sandboxID}`)).body;
      expect(s.world.sandboxes.get(sandboxID)?.spec.resources.diskBytes).toBe(diskSizeMB * 2 ** 20);
      await s.call("DELETE", `/sandboxes/${sandboxID}`);
      return { status, diskSizeMB, log: await bench.log(of) };
    };
    expect(await disk("small", { diskSizeMB: 64 })).toMatchObject({ status: "ready", diskSizeMB: 64 });
    expect(await disk("raised", { diskSizeMB: 64, minFreeDiskMb: 128 })).toMatchObject({ diskSizeMB: 128 });
    expect(await disk("as-usual", { minFreeDiskMb: 128 })).toMatchObject({ diskSizeMB: 10_240 });
    const most = (2 ** 50 - 2 ** 20) / 2 ** 20;
    s.world.capacity.diskLimitBytes = most * 2 ** 20;
    const huge = await disk("huge", { minFreeDiskMb: 2147483647 });
    expect(huge).toMatchObject({ diskSizeMB: most });
    expect(huge.log).toContain(`disk: 2147483647 MiB are more than the pool has; sandboxes get ${most} MiB`);
    const refused = await s.call("POST", "/v3/templates", { name: "tiny", diskSizeMB: 63 });
    expect([refused.status, refused.body.message]).toEqual([400, "validation error: diskSizeMB: Disk in MiB must be at least 64"]);
  });

  test("takes from the cache what was built before, up to a step that is forced", async () => {
    const steps = [run("one"), run("two"), run("three")];
    await bench.build("cached", { steps });
    bench.ran.length = 0;
    const again = await bench.build("cached-again", { steps });
    expect(bench.commands).toEqual([]);
    expect(strip(await bench.log(again.of)).slice(0, 4)).toEqual([
      "CACHED [base] FROM base:default",
      "CACHED [builder 1/3] RUN one",
      "CACHED [builder 2/3] RUN two",
      "CACHED [builder 3/3] RUN three",
    ]);
    await bench.build("cached", { steps: [steps[0], run("two", { force: true }), steps[2]] });
    expect(bench.commands).toEqual(["two", "three"]);
    bench.ran.length = 0;
    await bench.build("cached", { steps, force: true });
    expect(bench.commands).toEqual(["one", "two", "three"]);
    bench.ran.length = 0;
    await bench.build("cached", { steps: [run("one"), run("2"), run("three")] });
    expect(bench.commands).toEqual(["2", "three"]);
  });

  test("that fails says in which step, and shows its output", async () => {
    bench.answer = ({ args }) => (args.at(-1) === "false" ? { stderr: "why\n", exitCode: 3 } : undefined);
    const { of, status, reason } = await bench.build("failing", { steps: [run("true"), run("false"), run("never")] });
    expect(status).toBe("error");
    expect(reason).toMatchObject({ message: "failed to run command 'false': exit status 3", step: "2" });
    expect(reason.logEntries.map(({ message }: { message: string }) => message)).toContain("[builder 2/3] [stderr]: why");
    expect((await bench.log(of)).at(-1)).toBe("Build failed: failed to run command 'false': exit status 3");
    expect(bench.commands).not.toContain("never");
    expect((await s.call("POST", "/v2/sandboxes", { templateID: "failing" })).status).toBe(404);
    expect(s.world.sandboxes.size).toBe(0);
  });

  test("runs its stages first, copies out of them, and takes them from the cache by themselves", async () => {
    const stages = [
      { name: "one", fromImage: "e2bdev/base", steps: [run("in one", { env: { V: "$FROM_TEMPLATE!", FROM_TEMPLATE: "no" } })] },
      { name: "two", fromTemplate: "base", steps: [{ type: "COPY", fromStage: "one", args: ["/a", "/b"] }, run("in two")] },
    ];
    const steps = [{ type: "COPY", fromStage: "two", args: ["/a", "/b"], text: "COPY --from=two /a /b" }, run("last")];
    const built = await bench.build("staged", { stages, steps });
    expect([built.status, built.reason]).toEqual(["ready", undefined]);
    expect(bench.commands).toEqual(["in one", "in two", "last"]);
    expect(bench.ran[0]?.envs).toEqual({ FROM_TEMPLATE: "1", V: "1!" });
    expect(strip(await bench.log(built.of)).filter((line) => /^\[|^CACHED/.test(line))).toEqual([
      "CACHED [one base] FROM base:default",
      "[one 1/1] RUN in one",
      "CACHED [two base] FROM base:default",
      "[two 1/2] COPY /a /b",
      "[two 2/2] RUN in two",
      "CACHED [base] FROM base:default",
      "[builder 1/2] COPY --from=two /a /b",
      "[builder 2/2] RUN last",
      "[finalize] Finalizing template",
    ]);
    bench.ran.length = 0;
    stages[1]?.steps.splice(1, 1, run("in two, new"));
    await bench.build("staged", { stages, steps });
    expect(bench.commands).toEqual(["in two, new", "last"]);
    bench.answer = ({ args }) => (args.at(-1) === "bad" ? { exitCode: 1 } : undefined);
    stages[0]?.steps.push(run("bad"));
    const failed = await bench.build("staged", { stages, steps });
    expect(failed.reason).toMatchObject({ step: "one:2", message: "failed to run command 'bad': exit status 1" });
  });

  test("names a user that is not there", async () => {
    bench.answer = ({ user }) => (user === "nobody-here" ? { error: { code: "unauthenticated", message: "x" } } : undefined);
    const { reason } = await bench.build("user", { steps: [{ type: "RUN", args: ["id", "nobody-here"] }] });
    expect(reason.message).toBe("failed to run command 'id': command failed: unauthenticated: invalid username: 'nobody-here'");
  });

  test("inherits from a template, and its start command is tried, then run in each sandbox until it is ready", async () => {
    let asked = 0;
    bench.answer = ({ args }) => {
      if (args.at(-1) === "serve") return new Promise(() => {});
      if (args.at(-1) === "ready?") return { exitCode: ++asked % 3 === 0 ? 0 : 1 };
      return undefined;
    };
    const parent = await bench.build("serving", {
      steps: [{ type: "ENV", args: ["P", "1"] }],
      startCmd: "serve",
      readyCmd: "ready?",
      startFromMemory: false,
    });
    expect([parent.status, asked]).toEqual(["ready", 3]);
    expect(await bench.log(parent.of)).toEqual(
      expect.arrayContaining(["Running start command: serve", "Waiting for template to be ready: ready?", "Template is ready"]),
    );
    const child = await bench.build("serving-child", {
      fromImage: undefined,
      fromTemplate: "serving",
      steps: [run("more")],
      startFromMemory: false,
    });
    expect([child.status, asked]).toEqual(["ready", 6]);
    const { sandboxID } = await s.create({ templateID: "serving-child" });
    expect(asked).toBe(9);
    expect(bench.ran.at(-4)).toMatchObject({ args: ["-l", "-c", "serve"], user: "user", cwd: "/home/user", tag: "start-command" });
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    const other = await bench.build("serving-other", {
      fromImage: undefined,
      fromTemplate: "serving",
      startCmd: "serve",
      readyCmd: "sleep 0.1",
    });
    expect([other.status, asked]).toEqual(["ready", 9]);
  });

  test("fails when its start command does", async () => {
    bench.answer = ({ args }) => (args.at(-1) === "serve" ? { exitCode: 1 } : args.at(-1) === "ready?" ? { exitCode: 1 } : undefined);
    const { reason } = await bench.build("not-serving", { startCmd: "serve", readyCmd: "ready?" });
    expect(reason).toMatchObject({ message: "failed to run start command 'serve': exit status 1", step: "finalize" });
  });

  test("moves its tags only when it is ready", async () => {
    bench.answer = ({ args }) => (args.at(-1) === "false" ? { exitCode: 1 } : undefined);
    const first = await bench.build("moved:v1");
    await bench.build("moved:v1", { steps: [run("false")] });
    expect((await s.call("GET", "/templates/moved/tags")).body).toMatchObject([{ tag: "v1", buildID: first.of.buildID }]);
    const third = await bench.build("moved:v1");
    expect((await s.call("GET", "/templates/moved/tags")).body).toMatchObject([{ tag: "v1", buildID: third.of.buildID }]);
  });
});

describe("builds at once", () => {
  /** Lets commands called `wait` go on. */
  function held() {
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.answer = ({ args }) => (args.at(-1)?.startsWith("wait") ? promise.then(() => ({})) : undefined);
    return resolve;
  }
  const waiting = (name: string) => ({ steps: [run(`wait ${name}`)] });

  test("queue behind each other, are bounded, and say building from the start", async () => {
    const release = held();
    const all = [];
    for (const name of ["q1", "q2", "q3"]) {
      const of = await bench.request(name);
      expect((await bench.start(of, waiting(name))).status).toBe(202);
      expect((await bench.status(of)).status).toBe("building");
      all.push(of);
    }
    const more = await bench.request("q4");
    const refused = await bench.start(more, waiting("q4"));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    while (s.world.sandboxes.size < 2) await Bun.sleep(2);
    await staysTrueFor(20, "no third build begins", () => s.world.sandboxes.size === 2);
    release();
    for (const of of all) expect((await bench.ended(of)).status).toBe("ready");
  });

  test("of one template under other tags go on beside each other", async () => {
    const release = held();
    const [one, two] = [await bench.request("beside:v1"), await bench.request("beside:v2", { tags: ["latest"] })];
    expect(two.templateID).toBe(one.templateID);
    await bench.start(one, waiting("one"));
    await bench.start(two, waiting("two"));
    const three = await bench.request("beside:latest");
    await bench.start(three, waiting("three"));
    expect((await bench.ended(two)).reason.message).toBe("A newer build of the same template and tag was started");
    release();
    expect([(await bench.ended(one)).status, (await bench.ended(three)).status]).toEqual(["ready", "ready"]);
  });

  test("of one template: the newer ends the older", async () => {
    const release = held();
    const old = await bench.request("newest");
    await bench.start(old, waiting("old"));
    const young = await bench.request("newest");
    await bench.start(young, waiting("young"));
    expect((await bench.ended(old)).reason.message).toBe("A newer build of the same template and tag was started");
    release();
    expect((await bench.ended(young)).status).toBe("ready");
  });

  test("are cancelled, running or not, and end with their template", async () => {
    held();
    const cancel = (of: { templateID: string; buildID: string }) =>
      s.call("POST", `/templates/${of.templateID}/builds/${of.buildID}/cancel`);
    const atWork = await bench.request("cancelled");
    await bench.start(atWork, waiting("x"));
    while (s.world.sandboxes.size === 0) await Bun.sleep(2);
    expect((await cancel(atWork)).status).toBe(204);
    expect(await bench.status(atWork)).toMatchObject({ status: "error", reason: { message: "The build was cancelled" } });
    expect(s.world.sandboxes.size).toBe(0);
    expect((await cancel(atWork)).status).toBe(400);
    const requested = await bench.request("cancelled");
    expect((await cancel(requested)).status).toBe(204);
    expect((await bench.start(requested)).body.message).toBe("build is not in waiting state");
    const deleted = await bench.request("deleted");
    await bench.start(deleted, waiting("y"));
    expect((await s.call("DELETE", `/templates/${deleted.templateID}`)).status).toBe(204);
    expect(s.world.sandboxes.size).toBe(0);
    expect((await s.call("GET", `/templates/${deleted.templateID}`)).status).toBe(404);
  });

  test("end when the server does; builds that a killed server left say so after a restart", async () => {
    const other = await TestServer.start();
    const there = new BuildBench(other);
    there.answer = ({ args }) => (args.at(-1) === "wait" ? new Promise(() => {}) : undefined);
    const closed = await there.request("closed");
    await there.start(closed, { steps: [run("wait")] });
    while (other.world.sandboxes.size === 0) await Bun.sleep(2);
    await other.stop();
    expect(other.world.sandboxes.size).toBe(0);
    const { dataDir } = other.config;
    const again = await TestServer.start({ dataDir, world: other.world });
    const bench2 = new BuildBench(again);
    expect((await bench2.status(closed)).reason.message).toContain("The server is shutting down");
    const { store } = again.server.context;
    const [killed, written] = [await bench2.request("killed"), await bench2.request("written")];
    const spec = again.server.context.templates.ofTeam(await store.ensureTeam("default", "")).flatMap((t) => t.versions)[0]?.spec;
    if (!spec) throw new Error("there is no template");
    // As a kill -9 leaves them: one in the middle, one right before its end.
    await store.templates.updateBuild(killed.buildID, ["waiting"], { status: "building" });
    await store.templates.updateBuild(written.buildID, ["waiting"], { status: "building", spec });
    await again.stop();
    await using third = await TestServer.start({ dataDir, world: other.world });
    const bench3 = new BuildBench(third);
    expect(await bench3.status(killed)).toMatchObject({
      status: "error",
      reason: { message: expect.stringContaining("The server ended") },
    });
    expect((await bench3.status(written)).status).toBe("ready");
    expect((await third.call("GET", "/templates/written/tags")).body).toMatchObject([{ tag: "default", buildID: written.buildID }]);
  });
});

test("a build whose end could not be written is ended by the sweep", async () => {
  const { templates } = s.server.context.store;
  const { updateBuild } = templates;
  let refused = 0;
  templates.updateBuild = async (id, from, change) => {
    if (change.status !== "ready" && change.status !== "error") return updateBuild.call(templates, id, from, change);
    refused++;
    throw new Error("store away");
  };
  const of = await bench.request("late");
  await bench.start(of, { steps: [run("true")] });
  // As ready, and then as failed.
  await eventually("its end is refused", () => refused === 2);
  await s.server.sweep.once();
  expect((await bench.status(of)).status).toBe("building");
  templates.updateBuild = updateBuild;
  await eventually("it has left the queue", async () => (await s.server.context.builds.listUnfinished()).includes(of.buildID));
  await s.server.sweep.once();
  expect((await bench.status(of)).status).toBe("ready");
  expect((await s.call("GET", "/templates/late/tags")).body).toMatchObject([{ tag: "default", buildID: of.buildID }]);
});

describe("what a start refuses", () => {
  test.each([
    [{ fromImage: undefined }, "fromImage: is required, or fromTemplate"],
    [{ fromTemplate: "base" }, "fromTemplate: cannot go with fromImage"],
    [{ fromImage: "" }, "validation error: fromImage: must not be empty"],
    [{ fromImageRegistry: { type: "other" } }, "validation error: fromImageRegistry.type: "],
    [{ fromImageRegistry: { type: "registry", username: "u" } }, "validation error: fromImageRegistry.password: is required"],
    [{ steps: [{ args: [] }] }, "validation error: steps.0.type: is required"],
    [{ steps: [run("a"), { type: "EXPOSE", args: ["80"] }] }, "steps.1.type: 'EXPOSE' is none of RUN, COPY, ADD, ENV, ARG, WORKDIR, USER"],
    [{ steps: [{ type: "constructor", args: [] }] }, "steps.0.type: 'constructor' is none of RUN"],
    [{ steps: [{ type: "toString", args: [] }] }, "steps.0.type: 'toString' is none of RUN"],
    [{ steps: [{ type: "RUN", args: [] }] }, "steps.0.args: RUN takes 1 to 2 arguments, not 0"],
    [{ steps: [{ type: "WORKDIR", args: ["a", "b"] }] }, "steps.0.args: WORKDIR takes 1 arguments, not 2"],
    [{ steps: [{ type: "ENV", args: ["A"] }] }, "steps.0.args: ENV takes pairs of name and value"],
    [{ steps: [{ type: "ENV", args: ["A=B", "c"] }] }, "steps.0.args.0: 'A=B' is not a variable name"],
    [{ steps: [{ type: "RUN", args: ["a\0"] }] }, "steps.0.args.0: must not hold NUL"],
    [{ steps: [{ type: "COPY", args: ["a", "b"] }] }, "steps.0.filesHash: is required"],
    [{ steps: [{ type: "COPY", args: ["a", "b"], filesHash: "x" }] }, "steps.0.filesHash: must be 64 hexadecimal digits, in lower case"],
    [{ steps: [{ type: "COPY", args: ["a", "b"], filesHash: HASH }] }, `steps.0.filesHash: no files were uploaded under ${HASH}`],
    [{ steps: [{ type: "COPY", args: ["a", "b", "", "u+x"], filesHash: HASH }] }, "steps.0.args.3: 'u+x' is not a mode in octal digits"],
    [{ startCmd: "a\0" }, "startCmd: must not hold NUL"],
    [{ steps: [{ type: "COPY", args: ["a", "b"], fromStage: "x" }] }, "steps.0.fromStage: there is no stage 'x' before this one"],
    [{ steps: [{ type: "COPY", args: ["a", "b"], fromStage: "x", from: "base" }] }, "steps.0.fromStage: cannot go with from"],
    [{ steps: [run("a", { fromStage: "x" })] }, "steps.0.fromStage: is for COPY alone"],
    [{ steps: [run("a", { sources: [{ path: "x" }] })] }, "steps.0.sources: is for COPY and ADD alone"],
    [{ steps: [run("a", { env: { "A=": "" } })] }, "steps.0.env: 'A=' is not a variable name"],
    [{ steps: [run("a", { env: { A: "b".repeat(1 << 17) } })] }, "steps.0.env: must have at most 131072 bytes"],
    [{ steps: [{ type: "ENV", args: [], env: { A: "" } }] }, "steps.0.env: is for RUN alone"],
    [{ steps: [{ type: "COPY", args: ["a", "b"], sources: [{ path: "a/../b" }] }] }, "steps.0.sources.0.path: must not hold '..'"],
    [{ steps: [{ type: "COPY", args: ["a", "b"], sources: [{ path: "a", name: ".." }] }] }, "steps.0.sources.0.name: is not the name"],
    [{ stages: [{ name: "a b", fromTemplate: "base" }] }, "validation error: stages.0.name: must be letters"],
    [{ fromImage: "scratch", steps: [run("a")] }, "steps.0.type: nothing can run in an empty image"],
    [{ stages: [{ name: "a" }] }, "stages.0.fromImage: is required, or fromTemplate"],
    [{ stages: [{ name: "a", fromTemplate: "base", steps: [run("a\0")] }] }, "stages.0.steps.0.args.0: must not hold NUL"],
    [{ stages: [1, 2].map(() => ({ name: "a", fromTemplate: "base" })) }, "stages.1.name: there are two stages 'a'"],
  ])("%j", async (body, message) => {
    const of = await bench.request("refused");
    const reply = await bench.start(of, body);
    expect([reply.status, reply.body.message.slice(0, message.length)]).toEqual([400, message]);
    expect((await bench.status(of)).status).toBe("waiting");
  });

  test("unknown builds and templates", async () => {
    const of = await bench.request("refused");
    const { body } = await bench.start({ ...of, buildID: "nope" });
    expect(body).toEqual({ code: 400, message: "Invalid build ID: 'nope' is no UUID" });
    expect((await bench.start({ ...of, templateID: "nope" })).status).toBe(404);
    expect((await bench.start(of, { fromImage: undefined, fromTemplate: "nope" })).status).toBe(404);
    expect((await s.call("GET", `/templates/${of.templateID}/builds/nope/status`)).status).toBe(400);
    const unknown = crypto.randomUUID();
    for (const bad of ["No%20Such!", "a%3Ab%3Ac"]) {
      expect((await s.call("GET", `/templates/${bad}/builds/${unknown}/status`)).status).toBe(404);
    }
    const others = await bench.request("others");
    expect((await bench.status({ templateID: of.templateID, buildID: others.buildID })).code).toBe(404);
  });

  test("a second start of the same build", async () => {
    const { of } = await bench.build("once");
    const reply = await bench.start(of);
    expect([reply.status, reply.body.message]).toEqual([400, "build is not in waiting state"]);
  });
});

test("a build whose registry cannot be reached fails with the name of the image", async () => {
  const { reason } = await bench.build("elsewhere", { fromImage: "registry.test/app" });
  expect(reason.step).toBe("base");
  expect(reason.message).toContain("registry.test/app");
});

test("the log comes in pages by index, level and time; beyond its end there is nothing", async () => {
  bench.answer = ({ args }) =>
    args.at(-1) === "many" ? { stdout: Array.from({ length: 250 }, (_, i) => `line ${i}\n`).join("") } : undefined;
  const { of } = await bench.build("logged", { steps: [run("many")] });
  expect((await bench.status(of)).logEntries).toHaveLength(100);
  const lines = await bench.log(of);
  expect(lines.filter((line) => line.includes("line "))).toHaveLength(250);
  expect((await bench.status(of, `?logsOffset=${lines.length}`)).logEntries).toEqual([]);
  expect((await bench.status(of, "?logsOffset=99999")).logEntries).toEqual([]);
  expect((await bench.status(of, "?level=error")).logEntries).toEqual([]);
  expect((await s.call("GET", `/templates/${of.templateID}/builds/${of.buildID}/status?limit=101`)).status).toBe(400);
  const logs = async (query: string) => (await s.call("GET", `/templates/${of.templateID}/builds/${of.buildID}/logs?${query}`)).body.logs;
  expect((await logs("limit=1"))[0]).toEqual({ timestamp: expect.any(String), level: "info", message: lines[0], step: "base" });
  expect((await logs("limit=1&direction=backward"))[0].message).toBe(lines.at(-1));
});

test("layers that no template, cached step or sandbox needs are collected, and no others", async () => {
  await using own = await TestServer.start();
  const there = new BuildBench(own);
  const { builds, store } = own.server.context;
  await there.build("collected", { steps: [run("first")] });
  await there.build("collected", { steps: [run("first"), run("second")] });
  const { sandboxID } = await own.create({ templateID: "collected" });
  const before = new Set(own.world.layers.keys());
  // No tag points to the first build any more: it is kept as what is cached.
  expect((await builds.collect()).removed).toEqual([]);
  await own.call("DELETE", `/sandboxes/${sandboxID}`);
  expect((await own.call("DELETE", "/templates/collected")).status).toBe(204);
  expect((await builds.collect()).removed).toHaveLength(2);
  // What is cached stays until it is forgotten.
  const again = await there.build("collected", { steps: [run("first"), run("second")] });
  expect((await there.log(again.of)).filter((line) => line.startsWith("CACHED [builder"))).toHaveLength(2);
  await own.call("DELETE", "/templates/collected");
  await store.templates.pruneCached(Number.MAX_SAFE_INTEGER);
  await builds.collect();
  const shipped = [`sha256:${"b".repeat(64)}`];
  expect([...own.world.layers.keys()]).toEqual(shipped);
  const base = (await store.templates.listVersions()).find(({ name }) => name === "base");
  if (!base) throw new Error("no base");
  await store.templates.removeTags(base.templateId, ["default"], 1);
  await builds.collect();
  expect([...own.world.layers.keys()]).toEqual(shipped);
  expect(before.size).toBeGreaterThan(3);
});

test("a cache that is too large gives up what was used longest ago, and nothing that a template needs", async () => {
  await using own = await TestServer.start({ env: { BOXYARD_MAX_BUILD_CACHE_MIB: "0" } });
  const there = new BuildBench(own);
  const { builds } = own.server.context;
  await there.build("kept", { steps: [run("kept")] });
  await there.build("gone", { steps: [run("gone")] });
  expect((await own.call("DELETE", "/templates/gone")).status).toBe(204);
  expect((await builds.collect()).removed.length).toBeGreaterThan(1);
  const anew = await there.build("gone", { steps: [run("gone")] });
  expect((await there.log(anew.of)).filter((line) => line.startsWith("CACHED [builder"))).toHaveLength(0);
  await own.create({ templateID: "kept" });
});
