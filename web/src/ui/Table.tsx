// A table of records. Wide ones scroll by themselves; the page does not.
import type { ReactNode } from "react";
import { cx } from "./cx";
import css from "./page.module.css";

export type Column<Row> = {
  head: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the end of their column. */
  end?: boolean;
};

export function Table<Row>(props: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** On a phone each row is a block, its cells below each other: for tables with many columns. */
  stacks?: boolean;
}) {
  return (
    <div className={css.scroll} role="region" aria-label={props.label} tabIndex={0}>
      {/* Roles by name: without its display, a table would be none. */}
      <table className={cx(css.table, props.stacks && css.stacks)} role="table">
        <thead role="rowgroup">
          <tr role="row">
            {props.columns.map((column, at) => (
              <th key={at} scope="col" role="columnheader" className={cx(column.end && css.end)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {props.rows.map((row) => (
            <tr key={props.rowKey(row)} role="row">
              {props.columns.map((column, at) => (
                <td
                  key={at}
                  role="cell"
                  className={cx(column.end && css.end)}
                  data-head={typeof column.head === "string" ? column.head : undefined}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
