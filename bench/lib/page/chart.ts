import { type Page, rowsOf } from "./outcome.ts";

const ROW = 18;
const LEFT = 430;
const RIGHT = 830;
const WIDTH = 920;
const TOP = 46;
const COLOURS = { kept: "#2e7d32", missed: "#c62828" } as const;

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** The scale goes from a tenth to ten times of what is allowed; what is outside ends at its edge. */
const xOf = (ratio: number): number => {
  const place = Math.min(1, Math.max(-1, Math.log10(ratio)));
  return Math.round(LEFT + ((place + 1) / 2) * (RIGHT - LEFT));
};

/** A bar for each promise with a number: how much of what is allowed was needed, on a logarithmic scale. */
export function chartOf(page: Page): string {
  const rows = rowsOf(page).filter(({ ratio }) => ratio !== undefined && ratio > 0);
  const height = TOP + rows.length * ROW + 24;
  const bars = rows.map(({ what, measured, ratio = 1, state }, at) => {
    const y = TOP + at * ROW;
    const width = Math.max(1, xOf(ratio) - LEFT);
    return [
      `<text x="${LEFT - 8}" y="${y + 11}" text-anchor="end">${escaped(what)}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${width}" height="${ROW - 5}" fill="${COLOURS[state === "kept" ? "kept" : "missed"]}"/>`,
      `<text x="${LEFT + width + 5}" y="${y + 11}">${escaped(measured)}</text>`,
    ].join("");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11">`,
    "<title>What was needed of what each promise allows</title>",
    '<rect width="100%" height="100%" fill="#fff"/>',
    '<text x="8" y="18" font-size="14">What was needed of what each promise allows (logarithmic; left of the line: kept)</text>',
    `<text x="${xOf(1)}" y="36" text-anchor="middle">limit</text>`,
    ...bars,
    `<line x1="${xOf(1)}" y1="40" x2="${xOf(1)}" y2="${height - 18}" stroke="#000"/>`,
    `<text x="8" y="${height - 6}">${page.at.slice(0, 10)}, ${page.machine.cores} cores, load ${page.load.before}</text>`,
    "</svg>",
    "",
  ].join("\n");
}
