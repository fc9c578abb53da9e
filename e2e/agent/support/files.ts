import { expect } from "bun:test";
import { type AgentUnderTest, authorised } from "./agent-access.ts";
import { run } from "./run.ts";

/** Query members of `/files`; undefined ones are left out. */
export type FileQuery = Readonly<Record<string, string | undefined>>;

export interface FileOptions {
  readonly query?: FileQuery;
  readonly headers?: Readonly<Record<string, string>>;
  /** False leaves the access token out. */
  readonly authorised?: boolean;
  readonly signal?: AbortSignal;
}

function urlOf(agent: AgentUnderTest, path: string | undefined, query: FileQuery = {}): string {
  const url = new URL("/files", agent.baseUrl);
  for (const [name, value] of Object.entries({ path, ...query })) if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

function init(agent: AgentUnderTest, options: FileOptions): { headers: Record<string, string>; signal: AbortSignal | null } {
  const token = options.authorised === false ? {} : authorised(agent);
  // Bun's own fetch would ask for gzip and undo it; what is on the wire is to be seen.
  return { headers: { "Accept-Encoding": "identity", ...token, ...options.headers }, signal: options.signal ?? null };
}

export function download(agent: AgentUnderTest, path: string | undefined, options: FileOptions = {}, method = "GET"): Promise<Response> {
  return fetch(urlOf(agent, path, options.query), { ...init(agent, options), method, decompress: false } as RequestInit);
}

/** Content of a file as text; fails unless the answer is 200. */
export async function content(agent: AgentUnderTest, path: string, options: FileOptions = {}): Promise<string> {
  const response = await download(agent, path, options);
  expect(response.status).toBe(200);
  return response.text();
}

/** Uploads a raw body. */
export function put(agent: AgentUnderTest, path: string | undefined, body: BodyInit, options: FileOptions = {}): Promise<Response> {
  const { headers, signal } = init(agent, options);
  return fetch(urlOf(agent, path, options.query), {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream", ...headers },
    body,
    signal,
  });
}

/** Uploads a form whose `file` parts have these names and contents, in order. */
export function putForm(
  agent: AgentUnderTest,
  files: readonly (readonly [string, string])[],
  options: FileOptions = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, text] of files) form.append("file", new Blob([text]), name);
  return fetch(urlOf(agent, undefined, options.query), { method: "POST", ...init(agent, options), body: form });
}

export function postCompose(agent: AgentUnderTest, body: unknown, options: FileOptions = {}): Promise<Response> {
  const { headers, signal } = init(agent, options);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${agent.baseUrl}/files/compose`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: text,
    signal,
  });
}

/** Status and JSON body of an answer, for one comparison. */
export async function answer(response: Response): Promise<{ status: number; body: unknown }> {
  return { status: response.status, body: await response.json() };
}

/** An error of the HTTP side has exactly these members. */
export async function expectError(response: Response, status: number, message: string | RegExp): Promise<void> {
  const body = (await response.json()) as { code: number; message: string };
  expect({ status: response.status, code: body.code, members: Object.keys(body).sort() }).toEqual({
    status,
    code: status,
    members: ["code", "message"],
  });
  expect(response.headers.get("Content-Type")).toBe("application/json; charset=utf-8");
  if (typeof message === "string") expect(body.message).toBe(message);
  else expect(body.message).toMatch(message);
}

/** Runs shell text as root in the sandbox; fails when it fails. Returns its output without the last line end. */
export async function asRoot(agent: AgentUnderTest, script: string): Promise<string> {
  const result = await run(agent, script, { user: "root" });
  if (result.end?.exitCode) throw new Error(`'${script}' ended with ${result.end.exitCode}: ${result.stderr}`);
  return result.stdout.replace(/\n$/, "");
}

/** How often the agent answered a small request until `work` settled; as many at least as it gives way, however slow the machine is. */
export async function answersDuring(agent: AgentUnderTest, work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const settled = () => {
    isDone = true;
  };
  work.then(settled, settled);
  let count = 0;
  while (!isDone) {
    expect((await fetch(`${agent.baseUrl}/health`)).status).toBe(204);
    count++;
  }
  return count;
}

/** Shell text that sets `$pid` to the agent: PID 1, or the first child of the init that is. */
export const AGENT_PID = "pid=1; case $(cat /proc/1/comm) in init|init-*) read -r pid _ < /proc/1/task/1/children;; esac";

/** How many files and directories the agent has open. Connections come and go with clients. */
export async function openFiles(agent: AgentUnderTest): Promise<number> {
  return Number(await asRoot(agent, `${AGENT_PID}; ls -l /proc/$pid/fd | grep -c -- '-> /'`));
}
