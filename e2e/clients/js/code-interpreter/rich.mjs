import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

const PNG = /^iVBORw0KGgo/;

/** Every kind of result, and the data of charts and tables. */
export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    const one = async (code) => {
      const { results, error } = await sandbox.runCode(code);
      assert.equal(error, undefined);
      assert.equal(results.length, 1);
      return results[0];
    };
    const shown = (kind, code) => one(`from IPython.display import *\ndisplay(${code})`).then((result) => result[kind]);

    assert.equal(await shown("html", "HTML('<b>x</b>')"), "<b>x</b>");
    assert.equal(await shown("markdown", "Markdown('# x')"), "# x");
    assert.equal(await shown("latex", "Latex('$x$')"), "$x$");
    assert.deepEqual(await shown("json", "JSON({'a': [1, None, 'ü']})"), { a: [1, null, "ü"] });
    assert.equal(await shown("javascript", "Javascript('1')"), "1");
    assert.match(await shown("svg", "SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"), /^<svg/);
    const jpeg = "__import__('PIL.Image').Image.new('RGB', (2, 2)).save('/tmp/a.jpg') or Image('/tmp/a.jpg')";
    assert.match(await shown("jpeg", jpeg), /^\/9j\//);
    assert.deepEqual(await shown("extra", "{'application/x-own': 'v', 'text/plain': 't'}, raw=True"), { "application/x-own": "v" });
    assert.equal((await one("import sympy\nsympy.sqrt(sympy.Symbol('x'))")).latex, "$\\displaystyle \\sqrt{x}$");

    const saved = await one("from PIL import Image\nimage = Image.new('RGB', (60, 30), color='red')\nimage.save('x.png')");
    assert.match(saved.png, PNG);
    assert.equal((await sandbox.files.read("x.png", { format: "bytes" })).length > 0, true);

    const boxes = await one("import matplotlib.pyplot as plt\nplt.boxplot([[1, 2, 3], [4, 5, 6]], labels=['a', 'b'])\nplt.show()");
    assert.deepEqual([boxes.chart.type, boxes.chart.elements.map(({ label }) => label)], ["box_and_whisker", ["a", "b"]]);
    const pie = await one("plt.pie([10, 90])\nplt.show()");
    assert.deepEqual(
      pie.chart.elements.map(({ angle }) => angle),
      [36, 324],
    );

    const table = await one(
      "import pandas as pd\npd.DataFrame({'n': [1, None], 'd': pd.to_datetime(['2024-01-02', None]), 's': ['a', 'b']})",
    );
    assert.match(table.html, /<table/);
    assert.deepEqual(table.data, { n: [1, null], d: ["2024-01-02T00:00:00", null], s: ["a", "b"] });
    assert.equal((await one("pd.DataFrame({'n': range(300_000)})")).data, undefined);

    const bars = await one(
      "import matplotlib.pyplot as plt\nplt.bar(['p', 'q'], [3, 4], label='all')\nplt.title('T')\nplt.ylabel('Mass (kg)')\nplt.show()",
    );
    assert.match(bars.png, PNG);
    assert.deepEqual(
      [bars.isMainResult, bars.chart.type, bars.chart.title, bars.chart.y_label, bars.chart.y_unit],
      [false, "bar", "T", "Mass (kg)", "kg"],
    );
    assert.deepEqual(bars.chart.elements, [
      { label: "p", group: "all", value: 3 },
      { label: "q", group: "all", value: 4 },
    ]);
    const several = await one(
      "figure, (a, b) = plt.subplots(1, 2)\na.plot([1, 2], [3, 4], label='l')\nb.scatter([1], [2])\nfigure.suptitle('S')\nplt.show()",
    );
    assert.deepEqual(
      [several.chart.type, several.chart.title, several.chart.elements.map(({ type }) => type)],
      ["superchart", "S", ["line", "scatter"]],
    );
    assert.deepEqual(several.chart.elements[0].elements, [
      {
        label: "l",
        points: [
          [1, 3],
          [2, 4],
        ],
      },
    ]);
    const both = await sandbox.runCode("plt.plot([1]); plt.show()\nplt.pie([1, 3], labels=['A', 'B']); plt.show()\n7");
    assert.deepEqual(
      both.results.map(({ chart, text }) => chart?.type ?? text),
      ["line", "pie", "7"],
    );
    assert.equal(both.text, "7");
  });
}
