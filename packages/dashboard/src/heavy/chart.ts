import UPlot from "uplot";

interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly color: string;
  readonly isLimit?: boolean;
}

interface ChartOptions {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Values are bytes: the marks of the axis are powers of two. */
  readonly isBytes: boolean;
  readonly colors: { readonly text: string; readonly grid: string };
}

export interface Chart {
  update(options: ChartOptions): void;
  dispose(): void;
}

const HEIGHT = 180;
const POWERS = Array.from({ length: 44 }, (_, power) => 2 ** power);

const dataOf = ({ times, lines }: ChartOptions) => [times, ...lines.map(({ values }) => values)] as unknown as UPlot.AlignedData;

/** Draws values over time in an element, and follows its width. */
export function openChart(element: HTMLElement, options: ChartOptions): Chart {
  const { lines, format, colors, isBytes } = options;
  const axis = {
    stroke: colors.text,
    grid: { stroke: colors.grid, width: 1 },
    ticks: { stroke: colors.grid, width: 1 },
    font: "11px system-ui",
  };
  const chart = new UPlot(
    {
      width: element.clientWidth || 400,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
      axes: [axis, { ...axis, size: 64, values: (_u, ticks) => ticks.map(format), ...(isBytes && { incrs: POWERS }) }],
      series: [
        {},
        ...lines.map(({ name, color, isLimit }) => ({
          label: name,
          stroke: color,
          width: isLimit ? 1 : 2,
          points: { show: false },
          ...(isLimit ? { dash: [4, 4] } : { fill: `${color}22` }),
        })),
      ],
    },
    dataOf(options),
    element,
  );
  const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
  observer.observe(element);
  return {
    update: (next) => chart.setData(dataOf(next)),
    dispose() {
      observer.disconnect();
      chart.destroy();
    },
  };
}
