import { expect, test } from "bun:test";
import { testOf, testsIn } from "./operation-tests.ts";

const file = (path: string, text: string) => ({ path, text });
const FILES = [
  file("a/isolation.test.ts", 's.call("POST", "/things")'),
  file("a/make.test.ts", 's.call("POST", "/things", {})'),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a test
  file("a/one.test.ts", 's.call("GET", `/things/${id}`); s.call("DELETE", "/things/abc"); s.call("GET", "/things?limit=1")'),
  file("b/agent.test.ts", 'await rpc(agent, "Start"); await call("get /health")'),
];

test.each([
  ["POST", "/things", "a/make.test.ts"],
  ["GET", "/things", "a/one.test.ts"],
  ["GET", "/things/{id}", "a/one.test.ts"],
  ["DELETE", "/things/{id}", "a/one.test.ts"],
  ["PUT", "/things/{id}", undefined],
  ["GET", "/things/{id}/parts", undefined],
  ["POST", "/thing", undefined],
])("%s %s is called by %s", (method, path, expected) => {
  expect(testOf({ method, path }, FILES)).toBe(expected);
});

test("an operation of the agent is found by its procedure or its path", () => {
  expect(testOf({ method: "POST", path: "/process.Process/Start" }, FILES, "agent ")).toBe("b/agent.test.ts");
  expect(testOf({ method: "GET", path: "/health" }, FILES, "agent ")).toBe("b/agent.test.ts");
  expect(testOf({ method: "POST", path: "/process.Process/List" }, FILES, "agent ")).toBeUndefined();
});

test("the test that the table has stays while it calls the operation", () => {
  const files = [file("a/first.test.ts", 's.call("GET", "/x")'), file("b/second.test.ts", 's.call("GET", "/x")')];
  const before = testsIn("| operation | test |\n|---|---|\n| `GET /x` | `b/second.test.ts` |\n", "");
  expect(testOf({ method: "GET", path: "/x" }, files, "", before.get("GET /x"))).toBe("b/second.test.ts");
  expect(testOf({ method: "GET", path: "/x" }, files, "", "c/gone.test.ts")).toBe("a/first.test.ts");
});
