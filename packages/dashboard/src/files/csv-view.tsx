import { useMemo, useState } from "preact/hooks";
import { delimiterOf, parseCsv } from "../lib/csv.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/state.tsx";

const PAGE = 100;

/** A table of text, a hundred rows at a time. The first row has the names of the columns. */
export function CsvView({ name, text }: { name: string; text: string }) {
  const table = useMemo(() => parseCsv(text, delimiterOf(name, text)), [name, text]);
  const [page, setPage] = useState(0);
  const [head, ...rows] = table.rows;
  if (head === undefined) {
    return (
      <Empty icon="file" title="The table is empty">
        <p>Press Text to write into it.</p>
      </Empty>
    );
  }
  const last = Math.max(0, Math.ceil(rows.length / PAGE) - 1);
  const from = Math.min(page, last) * PAGE;
  const columns = Array.from({ length: table.width }, (_, index) => index);
  const shown = rows.slice(from, from + PAGE);
  return (
    <div class="csv">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it */}
      <section class="csv-scroll" tabIndex={0} aria-label={`Table of ${name}`}>
        <table class="table csv-table">
          <thead>
            <tr>
              {columns.map((index) => (
                <th key={index} scope="col">
                  {head[index] || <span class="hidden">{`Column ${index + 1}`}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, at) => (
              <tr key={from + at}>
                {columns.map((index) => (
                  <td key={index}>{row[index] ?? ""}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <div class="view-foot">
        <span role="status">
          {rows.length === 0
            ? "No rows"
            : `Rows ${(from + 1).toLocaleString()} to ${(from + shown.length).toLocaleString()} of ${rows.length.toLocaleString()}`}
          {table.isCut ? "; the text has more" : ""}
        </span>
        <Button kind="quiet" disabled={from === 0} onPress={() => setPage(from / PAGE - 1)}>
          Previous
        </Button>
        <Button kind="quiet" disabled={from / PAGE >= last} onPress={() => setPage(from / PAGE + 1)}>
          Next
        </Button>
      </div>
    </div>
  );
}
