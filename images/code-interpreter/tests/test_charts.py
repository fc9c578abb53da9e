import datetime
import json
import unittest
import warnings

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

from boxyard_code.charts import MAX_POINTS, chart_of  # noqa: E402


class Charts(unittest.TestCase):
    def setUp(self):
        self.figure, self.axes = plt.subplots()
        self.addCleanup(plt.close, "all")

    def chart(self):
        return json.loads(json.dumps(chart_of(self.figure), allow_nan=False))

    def test_lines_with_scales_and_labels(self):
        self.axes.plot([1, 2, 3], [1, 10, float("nan")], label="l")
        self.axes.set(xlabel="Time (s)", yscale="log", title="T")
        chart = self.chart()
        self.assertEqual(chart["elements"], [{"label": "l", "points": [[1, 1], [2, 10], [3, None]]}])
        self.assertEqual([chart[name] for name in ("type", "title", "x_label", "x_unit", "y_label", "x_scale", "y_scale")], ["line", "T", "Time (s)", "s", None, "linear", "log"])
        self.assertEqual(len(chart["x_ticks"]), len(chart["x_tick_labels"]))

    def test_dates_and_names_are_kept(self):
        self.axes.plot([datetime.date(2024, 1, 1)], ["low"])
        chart = self.chart()
        self.assertEqual((chart["x_scale"], chart["y_scale"], chart["y_ticks"]), ("datetime", "categorical", ["low"]))
        self.assertEqual(chart["elements"][0]["points"], [["2024-01-01T00:00:00+00:00", "low"]])

    def test_scatter(self):
        self.axes.scatter([1, 2], [3, 4], label="s")
        chart = self.chart()
        self.assertEqual((chart["type"], chart["elements"]), ("scatter", [{"label": "s", "points": [[1, 3], [2, 4]]}]))

    def test_vertical_and_horizontal_bars(self):
        self.axes.bar(["a", "b"], [1, 2], label="g")
        wanted = [{"label": "a", "group": "g", "value": 1}, {"label": "b", "group": "g", "value": 2}]
        self.assertEqual(self.chart()["elements"], wanted)
        self.axes.clear()
        self.axes.barh(["a", "b"], [1, 2], label="g")
        self.assertEqual(self.chart()["elements"], wanted)

    def test_pie(self):
        self.axes.pie([1, 3], labels=["A", "B"], autopct="%d")
        elements = self.chart()["elements"]
        self.assertEqual([(one["label"], one["angle"], one["radius"]) for one in elements], [("A", 90, 1), ("B", 270, 1)])
        for shares in ([10, 90], [1, 2, 7], [0.1, 0.2, 0.3, 0.4]):
            self.axes.clear()
            self.axes.pie(shares)
            angles = [round(360 * share / sum(shares), 4) for share in shares]
            self.assertEqual([one["angle"] for one in self.chart()["elements"]], angles)

    def test_vertical_horizontal_and_filled_boxes(self):
        wanted = {"label": "p", "min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 4, "outliers": [20]}
        notched = {"notch": True}
        for options in ({}, {"patch_artist": True}, {"vert": False}, notched, {**notched, "patch_artist": True}, {**notched, "vert": False}):
            self.axes.clear()
            self.axes.boxplot([[1, 2, 3, 4, 20], [5, 6, 7]], **options)
            ticks = self.axes.set_yticklabels if options.get("vert") is False else self.axes.set_xticklabels
            ticks(["p", "q"])
            chart = self.chart()
            self.assertEqual((chart["type"], chart["elements"][0], len(chart["elements"])), ("box_and_whisker", wanted, 2), options)

    def test_boxes_with_the_option_labels(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # matplotlib calls it `tick_labels` now
            self.axes.boxplot([[1, 2, 3], [4, 5, 6]], labels=["a", "b"])
        chart = self.chart()
        self.assertEqual((chart["type"], [one["label"] for one in chart["elements"]]), ("box_and_whisker", ["a", "b"]))

    def test_several_axes_and_an_image(self):
        self.figure.clear()
        left, right = self.figure.subplots(1, 2)
        left.plot([1])
        self.figure.colorbar(right.imshow([[1, 2]]))
        self.figure.suptitle("S")
        chart = self.chart()
        self.assertEqual((chart["type"], chart["title"], [one["type"] for one in chart["elements"]]), ("superchart", "S", ["line", "unknown"]))

    def test_too_many_points_are_not_sent(self):
        self.axes.plot(range(MAX_POINTS + 1))
        self.assertIsNone(chart_of(self.figure))


if __name__ == "__main__":
    unittest.main()
