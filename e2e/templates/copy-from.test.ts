import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

interface Requested {
  readonly templateID: string;
  readonly buildID: string;
}
interface Status {
  readonly status: string;
  readonly logEntries: { readonly message: string }[];
  readonly reason?: { readonly message: string; readonly step?: string };
}

const api = async (method: string, path: string, body?: unknown) =>
  (await platform().api({ method, path, ...(body === undefined ? {} : { body }) })).body;

/** Builds a template; a stage has no name. */
async function build(name: string | undefined, steps: readonly object[]): Promise<Requested & Status> {
  const requested = (await api("POST", "/v3/templates", name === undefined ? {} : { name })) as Requested;
  const path = `/templates/${requested.templateID}/builds/${requested.buildID}`;
  await api("POST", `/v2${path}`, { fromImage: "e2bdev/base", steps });
  let seen: Status | undefined;
  await eventually(
    "the build ends",
    async () => {
      seen = (await api("GET", `${path}/status`)) as Status;
      return seen.status === "ready" || seen.status === "error";
    },
    { withinMs: 30_000 },
  );
  return { ...requested, ...(seen as Status) };
}

test("a stage's files are copied into another build, and cached by what they are", async () => {
  const name = `stages-${crypto.randomUUID().slice(0, 8)}`;
  const make = "mkdir -p /out/deep && echo one > /out/a.txt && echo two > /out/deep/b.txt && ln -s a.txt /out/link && touch /out/c.md";
  const stage = { type: "RUN", args: [make, "root"] };
  const steps = (from: string) => [
    { type: "COPY", from, args: ["/out", "/app", "", ""] },
    { type: "COPY", from, args: ["/out/*.md", "docs/", "root", "600"] },
    { type: "COPY", from, args: ["out/a.txt", "/app/renamed", "", ""] },
  ];
  const first = await build(undefined, [stage]);
  const whole = await build(name, steps(first.templateID));
  expect([whole.status, whole.reason?.message]).toEqual(["ready", undefined]);
  {
    await using sandbox = await createSandbox(platform(), {}, name);
    const seen = await sandbox.asRoot(
      "cd /app; find . | sort; cat a.txt deep/b.txt renamed link; stat -c '%U %a' a.txt /home/user/docs/c.md",
    );
    expect(seen.stdout).toBe(".\n./a.txt\n./c.md\n./deep\n./deep/b.txt\n./link\n./renamed\none\ntwo\none\none\nuser 644\nuser 600\n");
  }
  const again = await build(undefined, [stage]);
  const cached = await build(name, steps(again.templateID));
  expect(cached.logEntries.filter(({ message }) => message.startsWith("CACHED [builder"))).toHaveLength(3);

  const failed = await build(name, [{ type: "COPY", from: again.templateID, args: ["/absent", "/x"] }]);
  expect(failed.reason).toMatchObject({ step: "1", message: expect.stringContaining("COPY /absent failed") });
  for (const id of [name, first.templateID, again.templateID]) await api("DELETE", `/templates/${id}`);
}, 90_000);
