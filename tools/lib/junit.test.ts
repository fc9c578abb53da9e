import { expect, test } from "bun:test";
import { parseJunit } from "./junit.ts";

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="5">
  <testsuite name="a.test.ts" file="a.test.ts" tests="5">
    <testsuite name="grp" file="a.test.ts">
      <testcase name="ok &amp; &lt;fine&gt; &#10;" classname="grp" file="a.test.ts" assertions="1" />
      <testcase name="later" classname="grp" file="a.test.ts" assertions="0">
        <skipped />
      </testcase>
      <testcase name="to do" classname="grp" file="a.test.ts">
        <skipped message="TODO" />
      </testcase>
    </testsuite>
    <testcase name="bad" file="a.test.ts">
      <failure type="AssertionError" message="&lt;skipped />">text</failure>
    </testcase>
  </testsuite>
</testsuites>`;

test("reads outcome, groups and entities of every case", () => {
  expect(parseJunit(REPORT)).toEqual([
    { file: "a.test.ts", name: "grp > ok & <fine> \n", outcome: "passed" },
    { file: "a.test.ts", name: "grp > later", outcome: "skipped" },
    { file: "a.test.ts", name: "grp > to do", outcome: "failed" },
    { file: "a.test.ts", name: "bad", outcome: "failed" },
  ]);
});

test("refuses a text that is not a report", () => {
  expect(() => parseJunit("")).toThrow("not JUnit");
});
