import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { platformDocument } from "@boxyard/spec/platform-document";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../testing/test-server.ts";

/*
 * Two teams: one attacks what is the other's, on every route of the OpenAPI document. A new route is attacked by itself. Its path parameters and the
 * fields of its query and body must be in the tables below, which say whether they name something: else a test fails.
 */

/** Something of the other team, and something of the same form that does not exist. */
interface Reference {
  readonly theirs: string;
  readonly unknown: string;
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly allOf?: readonly Schema[];
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly "x-boxyard-access": { readonly scope: string | null; readonly owner?: string };
}
const { paths, components } = JSON.parse(JSON.stringify(platformDocument())) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

/** Members of paths, queries and bodies that name nothing of a team, or something only within what the path names. */
const PLAIN: ReadonlySet<string> = new Set(
  `metadata envVars allow_internet_access autoPause autoPauseMemory autoResume network mcp iam timeout secure memory duration allowOut denyOut egressProxy
  dnsServers rules preset requireHealthyGuest count tags alias cpuCount memoryMB diskSizeMB minFreeDiskMb public sizeMB fromImage fromImageRegistry force onBuild
  onBuildDone startCmd readyCmd restrictions startFromMemory stages reference registry scopes expiresAt slug state order startedAfter limit start
  metric to action end direction level search tag logsOffset source assignmentLimit tagsLimit tagsCursor sort cursor hash limits name steps setup creator leaseSeconds done resources
  dockerfile value port expires idleTimeout retention maxResources verdict url enabled signatureSecret deliveries offset orderAsc types events record onMiss`.split(
    /\s+/,
  ),
);

let s: TestServer;
let attacker: Record<string, string>;
/** Texts that no answer to the attacker may contain. */
const secrets: string[] = [];
/** What names something, by the name of the path parameter or of the field. */
const references: Record<string, Reference> = {};
/** Fields that name something in one operation alone. */
const special: Record<string, Reference> = {};
/** The attacker's own things, for the other parameters of a path. */
const own: Record<string, string> = {};
let theirLists: () => Promise<unknown>;

beforeAll(async () => {
  s = await TestServer.start();
  const victim = await s.team("victim");
  attacker = (await s.team("attacker")).headers;
  const as = (headers: Record<string, string>) => async (method: string, path: string, body?: unknown) => {
    const reply = await s.call(method, path, body, headers);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply;
  };
  const have = async (call: ReturnType<typeof as>, hidden: string) => {
    const sandbox = (await call("POST", "/v2/sandboxes", { templateID: "base", metadata: { hidden }, name: `box-of-${hidden}` })).body;
    await call("POST", "/v2/sandboxes", { templateID: "base" });
    const snapshot = (await call("POST", `/sandboxes/${sandbox.sandboxID}/snapshots`, { name: "kept" })).body;
    const template = (await call("POST", "/v3/templates", { name: "built" })).body;
    const volume = (await call("POST", "/volumes", { name: "data", sizeMB: 8 })).body;
    const key = (await call("POST", "/api-keys", { name: "ci" })).body;
    const token = (await call("POST", "/access-tokens", { name: "cli" })).body;
    const secret = (await call("POST", "/secrets", { name: `secret-of-${hidden}`, value: `value of ${hidden}` })).body;
    const hook = { name: hidden, url: "https://hooks.example/x", events: ["build"], enabled: false };
    const webhook = (await call("POST", "/events/webhooks", hook)).body;
    const recording = (await call("POST", `/boxyard/recordings?name=recording-of-${hidden}`, { log: { entries: [] } })).body;
    const page = (await call("GET", "/v2/sandboxes?limit=1")).headers.get("x-next-token") ?? "";
    return { sandbox, snapshot, template, volume, secret, webhook, recording, key, token, page };
  };
  const theirs = await have(as(victim.headers), "theirs-alone");
  const mine = await have(as(attacker), "mine");
  const { sandbox, snapshot, template, volume, secret, webhook, recording, key, token } = theirs;
  secrets.push(sandbox.sandboxID, sandbox.envdAccessToken, template.templateID, template.buildID, volume.volumeID, volume.token);
  secrets.push(
    key.id,
    key.key,
    token.id,
    token.token,
    victim.teamID,
    victim.key,
    secret.secretID,
    webhook.id,
    webhook.signatureSecret,
    "theirs-alone",
    "victim/",
  );
  const templateId = snapshot.snapshotID.split(":")[0] as string;
  Object.assign(references, {
    sandboxID: { theirs: sandbox.sandboxID, unknown: "i00000000000000000000" },
    sandboxName: { theirs: "box-of-theirs-alone", unknown: "box-of-nobody" },
    templateID: { theirs: template.templateID, unknown: "0000000000000000000z" },
    buildID: { theirs: template.buildID, unknown: crypto.randomUUID() },
    alias: { theirs: "victim/built", unknown: "victim/nothing" },
    targetID: { theirs: sandbox.sandboxID, unknown: "i00000000000000000000" },
    volumeID: { theirs: volume.volumeID, unknown: crypto.randomUUID() },
    volume: { theirs: volume.volumeID, unknown: crypto.randomUUID() },
    secretID: { theirs: secret.secretID, unknown: "sec_00000000000000000000" },
    recording: { theirs: recording.name, unknown: "recording-of-nobody" },
    replay: { theirs: recording.name, unknown: "recording-of-nobody" },
    webhookID: { theirs: webhook.id, unknown: crypto.randomUUID() },
    apiKeyID: { theirs: key.id, unknown: crypto.randomUUID() },
    accessTokenID: { theirs: token.id, unknown: crypto.randomUUID() },
    team: { theirs: victim.teamID, unknown: crypto.randomUUID() },
    teamID: { theirs: victim.teamID, unknown: crypto.randomUUID() },
    snapshotID: { theirs: snapshot.snapshotID, unknown: "victim/nothing:default" },
    target: { theirs: templateId, unknown: "victim/nothing" },
    from: { theirs: "data-of-victim", unknown: "nothing" },
    fromTemplate: { theirs: "victim/kept", unknown: "victim/nothing" },
    fromArchive: { theirs: "a".repeat(64), unknown: "b".repeat(64) },
    template: { theirs: "victim/kept", unknown: "victim/nothing" },
    sandbox_ids: { theirs: sandbox.sandboxID, unknown: "i00000000000000000000" },
    nodeID: { theirs: "home", unknown: "other" },
    nextToken: { theirs: theirs.page, unknown: mine.page },
    volumeMounts: { theirs: "data-of-victim", unknown: "nothing" },
    secrets: { theirs: "secret-of-theirs-alone", unknown: "secret-of-nobody" },
    envSecrets: { theirs: "secret-of-theirs-alone", unknown: "secret-of-nobody" },
  } satisfies Record<string, Reference>);
  await as(victim.headers)("POST", "/volumes", { name: "data-of-victim", sizeMB: 8 });
  Object.assign(special, { "delete /templates/tags name": { theirs: "victim/kept", unknown: "victim/nothing" } });
  Object.assign(special, { "get /usage from": { theirs: "2026-01-01", unknown: "2026-01-02" } });
  Object.assign(special, { "get /snapshots name": { theirs: "victim/kept", unknown: "victim/nothing" } });
  Object.assign(own, {
    sandboxID: mine.sandbox.sandboxID,
    sandboxName: "box-of-mine",
    templateID: mine.template.templateID,
    buildID: mine.template.buildID,
  });
  Object.assign(own, {
    volumeID: mine.volume.volumeID,
    secretID: mine.secret.secretID,
    recording: mine.recording.name,
    webhookID: mine.webhook.id,
    apiKeyID: mine.key.id,
    accessTokenID: mine.token.id,
    hash: "a".repeat(64),
    tag: "default",
  });
  theirLists = async () => {
    const lists = [
      "/v2/sandboxes",
      "/templates",
      "/snapshots",
      "/volumes",
      "/secrets",
      "/boxyard/recordings",
      "/events/webhooks",
      "/api-keys",
      "/access-tokens",
    ];
    const detail = `/sandboxes/${sandbox.sandboxID}`;
    const found = await Promise.all([...lists, detail].map(async (path) => (await s.call("GET", path, undefined, victim.headers)).body));
    // The times of last use are of the calls of this function, and the use of a sandbox grows by itself.
    return JSON.parse(JSON.stringify(found, (name, value) => (name === "lastUsed" || name === "usage" ? undefined : value)));
  };
});
afterAll(() => s[Symbol.asyncDispose]());

/** Names of the fields of a schema. */
function fieldsOf(schema: Schema | undefined): string[] {
  if (!schema) return [];
  if (schema.$ref) return fieldsOf(components.schemas[schema.$ref.split("/").at(-1) ?? ""]);
  return [...Object.keys(schema.properties ?? {}), ...(schema.allOf ?? []).flatMap(fieldsOf)];
}

/** Answers without an end: what they send is what another route lists, with the same filter by team. */
const ENDLESS: ReadonlySet<string> = new Set(["/events/stream"]);

/** All routes that need a key. */
const ALL = Object.entries(paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      method: method.toUpperCase(),
      path,
      access: operation["x-boxyard-access"],
      params: (operation.parameters ?? []).filter((parameter) => parameter.in === "path").map(({ name }) => name),
      query: (operation.parameters ?? []).filter((parameter) => parameter.in === "query").map(({ name }) => name),
      body: fieldsOf(operation.requestBody?.content["application/json"]?.schema),
    })),
  )
  .filter(({ access, path }) => access.scope !== null && !ENDLESS.has(path));
type Attacked = (typeof ALL)[number];

/** What else a body must have for the server to look at what it names. */
const BODIES: Readonly<Record<string, object>> = {
  "post /sandboxes": { templateID: "base" },
  "post /v2/sandboxes": { templateID: "base" },
  "post /sandboxes/{sandboxID}/connect": { timeout: 60 },
  "post /sandboxes/{sandboxID}/timeout": { timeout: 60 },
  "post /sandboxes/{sandboxID}/rollback": { snapshotID: "none:default" },
  "put /sandboxes/{sandboxID}/setup": { creator: "12345678" },
  "patch /sandboxes/{sandboxID}": { name: "another" },
  "patch /sandboxes/{sandboxID}/resources": { memoryMB: 256 },
  "post /v3/templates": { name: "mine" },
  "post /templates/tags": { target: "built", tags: ["x"] },
  "post /templates": { alias: "mine", dockerfile: "FROM base" },
  "post /templates/{templateID}": { dockerfile: "FROM base" },
  "post /v2/templates": { alias: "mine" },
  "delete /templates/tags": { name: "built", tags: ["x"] },
  "post /api-keys": { name: "more" },
  "patch /api-keys/{apiKeyID}": { name: "more" },
  "post /access-tokens": { name: "more" },
  "post /secrets": { name: "more", value: "x" },
  "post /secrets/{secretID}": { value: "x" },
  "post /events/webhooks": { name: "more", url: "https://hooks.example/y", events: ["*"], enabled: false },
  "post /volumes": { name: "more", sizeMB: 8 },
  "post /boxyard/templates/{templateID}/push": { reference: "localhost:1/a" },
  "post /v2/templates/{templateID}/builds/{buildID}": { steps: [] },
};

/** How a field that is no plain text names something. */
function bodyValue(field: string, text: string): unknown {
  if (field === "secrets") return { id: { stored: text } };
  if (field === "envSecrets") return { VARIABLE: text };
  return field === "volumeMounts" ? [{ name: text, path: "/data" }] : text;
}

/** One request that names `value` in `field`, and else what is the attacker's own. */
async function attack({ name, method, path, params, query }: Attacked, field: string, value: string) {
  const inPath = (param: string) => (param === field ? value : (own[param] ?? "none"));
  const at = params.reduce((text, param) => text.replace(`{${param}}`, encodeURIComponent(inPath(param))), path);
  const search = query.includes(field) ? `?${field}=${encodeURIComponent(value)}` : "";
  const base = BODIES[name] ?? (method === "GET" || method === "DELETE" ? undefined : {});
  const isInBody = !params.includes(field) && search === "" && field !== "none";
  const body = isInBody ? { ...base, [field]: bodyValue(field, value) } : base;
  const { status, body: answer } = await s.call(method, at + search, body, attacker);
  return { status, text: JSON.stringify(answer ?? null) };
}

describe.each(ALL)("$name", (operation) => {
  const fields = [...operation.params, ...operation.query, ...operation.body];
  const referenceOf = (field: string) => special[`${operation.name} ${field}`] ?? references[field];

  test("has no path parameter and no field of which these tests do not know what it names", () => {
    expect(fields.filter((field) => !PLAIN.has(field) && !referenceOf(field))).toEqual([]);
  });

  test("answers about what is another team's as about what does not exist, and does nothing to it", async () => {
    const before = await theirLists();
    for (const field of fields) {
      const reference = referenceOf(field);
      if (!reference) continue;
      const theirs = await attack(operation, field, reference.theirs);
      const unknown = await attack(operation, field, reference.unknown);
      // A success made something of the attacker's own, with ids of its own.
      const said = ({ status, text }: typeof theirs, value: string) => ({
        ...{ field, status, text: status < 300 && operation.method === "POST" ? "" : text.replaceAll(value, "X") },
      });
      // A token of a page means a place in the order, and nothing of a team.
      if (field !== "nextToken") expect(said(theirs, reference.theirs)).toEqual(said(unknown, reference.unknown));
      // Only the caller's own key or team decides in these fields, and the lists are then the caller's own.
      if (operation.params.includes(field)) expect([field, theirs.status >= 400]).toEqual([field, true]);
      const shown = secrets.filter((secret) => theirs.text.replaceAll(reference.theirs, "X").includes(secret));
      expect([field, shown]).toEqual([field, []]);
    }
    expect(await theirLists()).toEqual(before);
  });
});

test.each(ALL.filter(({ method, params }) => method === "GET" && params.length === 0))(
  "$name shows nothing of another team",
  async (operation) => {
    const { text } = await attack(operation, "none", "none");
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  },
);

/** Median times, in ms, of answers about what is another team's and about what does not exist; and how many of each there were. */
async function medianTimes(): Promise<{ theirs: number; unknown: number; count: number }> {
  const times: Record<string, number[]> = {};
  const gets = ALL.filter(({ method, params }) => method === "GET" && params.length === 1);
  for (let round = 0; round < 30; round++) {
    for (const operation of gets) {
      const [field = ""] = operation.params;
      const reference = references[field];
      if (!reference) continue;
      for (const kind of round % 2 ? (["theirs", "unknown"] as const) : (["unknown", "theirs"] as const)) {
        const from = performance.now();
        await attack(operation, field, reference[kind]);
        const list = times[kind] ?? [];
        times[kind] = list;
        list.push(performance.now() - from);
      }
    }
  }
  const median = (list: readonly number[] = []) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
  return { theirs: median(times.theirs), unknown: median(times.unknown), count: times.theirs?.length ?? 0 };
}

test("the answer takes as long for what is another team's as for what does not exist", async () => {
  // A difference of the server's is there each time; that of a busy machine is not.
  const isSame = async () => {
    const { theirs, unknown, count } = await medianTimes();
    expect(count).toBeGreaterThan(150);
    return Math.abs(theirs - unknown) < Math.max(0.1, unknown * 0.2);
  };
  await eventually("the times are the same", isSame, { withinMs: 60_000 });
}, 180_000);
