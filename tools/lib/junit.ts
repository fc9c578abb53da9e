import { AppError } from "@boxyard/core";

export interface TestCase {
  readonly file: string;
  /** Names of its groups and its own, joined by ` > `. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decode(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal: string, hex: string, name: string) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[name] ?? whole;
  });
}

function attribute(tag: string, name: string): string {
  return decode(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
}

/**
 * Reads the JUnit report that `bun test --reporter=junit` writes: one entry per test case.
 * A `test.todo` counts as failed, because it asserts nothing.
 */
export function parseJunit(xml: string): TestCase[] {
  if (!xml.includes("<testsuites")) throw new AppError("internal", "The test report is not JUnit", { reason: "bad_test_report" });
  const cases: TestCase[] = [];
  const groups: string[] = [];
  for (const [tag] of xml.matchAll(/<testsuite\s[^>]*>|<\/testsuite>|<testcase\s[^>]*?(?:\/>|>[\s\S]*?<\/testcase>)/g)) {
    if (tag.startsWith("</")) groups.pop();
    else if (tag.startsWith("<testsuite")) {
      if (!tag.endsWith("/>")) groups.push(attribute(tag, "name"));
    } else {
      const head = tag.slice(0, tag.indexOf(">") + 1);
      const body = tag.slice(head.length);
      cases.push({
        file: attribute(head, "file"),
        name: [...groups.slice(1), attribute(head, "name")].join(" > "),
        outcome: outcomeOf(body),
      });
    }
  }
  return cases;
}

function outcomeOf(body: string): TestCase["outcome"] {
  if (/<(failure|error)[\s>/]/.test(body) || body.includes('<skipped message="TODO"')) return "failed";
  return /<skipped[\s>/]/.test(body) ? "skipped" : "passed";
}
