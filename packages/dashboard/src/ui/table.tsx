import type { ComponentChildren } from "preact";

interface TableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly columns: readonly Column<T>[];
  /** Columns keep their widths whatever is in them: for what changes by itself. The first one is as wide as a name or as an id. */
  readonly steady?: "name" | "id";
}

export interface Column<T> {
  readonly name: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Less important columns are left out on a narrow screen. */
  readonly wideOnly?: boolean;
  readonly isNumber?: boolean;
}

/** A table of some tens of rows. */
export function Table<T>({ label, rows, keyOf, columns, steady }: TableProps<T>) {
  const classOf = ({ wideOnly, isNumber }: Column<T>) => `${wideOnly ? "wide-only" : ""} ${isNumber ? "number" : ""}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
    <section class="table-scroll" tabIndex={0} aria-label={label}>
      <table class={steady ? `table steady-columns first-${steady}` : "table"}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name === "" ? <span class="hidden">Actions</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
