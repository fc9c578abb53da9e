import { expect, test } from "bun:test";
import { platformDocument } from "../platform/document.ts";
import { DocumentCheck } from "./document-check.ts";

const check = new DocumentCheck(platformDocument());

test("a request finds its operation; a literal path wins over a parameter", () => {
  expect(check.find("GET", "/sandboxes/metrics?sandbox_ids=a")).toBe("get /sandboxes/metrics");
  expect(check.find("GET", "/sandboxes/iabc")).toBe("get /sandboxes/{sandboxID}");
  expect(check.find("DELETE", "/sandboxes/")).toBeUndefined();
});

test("a body that does not fit, a status that is not described and a body where none belongs are found", () => {
  expect(check.answerProblems("get /sandboxes/{sandboxID}", 404, { code: 404, message: "none" })).toEqual([]);
  expect(check.answerProblems("get /sandboxes/{sandboxID}", 404, { code: "404", message: "none" })).toHaveLength(1);
  expect(check.answerProblems("get /sandboxes/{sandboxID}", 418, {})).toHaveLength(1);
  expect(check.answerProblems("delete /sandboxes/{sandboxID}", 204, {})).toHaveLength(1);
});
