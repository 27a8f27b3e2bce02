import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, memo, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import styles from './rows.module.css';

const ROW_PX = 44;
const GAP_PX = 20;
/** Lists of more rows than this draw only those that are on the screen. */
const WHOLE_ROWS = 80;

export interface Column<T> {
  readonly title: string;
  /** Least width in pixels, and the whole width unless the column takes a share of what is left. */
  readonly px: number;
  readonly share?: number;
  readonly align?: 'right';
  /** Left out where the screen is narrow. */
  readonly extra?: boolean;
  readonly cell: (row: T) => ReactNode;
}

interface RowsProps<T> {
  /** Of what the rows are, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}

/** A table of any length: a long one costs no more than a screenful. */
export function Rows<T>(props: RowsProps<T>) {
  const { label, columns, rows } = props;
  return (
    <div className={styles['table']} tabIndex={0} role="region" aria-label={label}>
      <div
        className={styles['inner']}
        style={{
          ...gridOf(columns, ''),
          ...gridOf(
            columns.filter(({ extra }) => extra !== true),
            '-narrow',
          ),
        }}
        role="table"
        aria-label={label}
        aria-rowcount={rows.length + 1}
      >
        <div role="rowgroup">
          <div role="row" className={styles['head']} aria-rowindex={1}>
            {columns.map((column) => (
              <div role="columnheader" key={column.title} className={cellClass(column)}>
                {column.title}
              </div>
            ))}
          </div>
        </div>
        {rows.length > WHOLE_ROWS ? <VirtualBody {...props} /> : <WholeBody {...props} />}
      </div>
    </div>
  );
}

function WholeBody<T>({ columns, rows, keyOf }: RowsProps<T>) {
  return (
    <div role="rowgroup" className={styles['body']}>
      {rows.map((row, at) => (
        <div role="row" key={keyOf(row)} aria-rowindex={at + 2} className={styles['row']}>
          <Cells columns={columns} row={row} />
        </div>
      ))}
    </div>
  );
}

function VirtualBody<T>({ columns, rows, keyOf }: RowsProps<T>) {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: top,
  });
  return (
    <div role="rowgroup" className={styles['body']} ref={body} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, start }) => {
        const row = rows[index];
        if (row === undefined) return undefined;
        return (
          <div
            role="row"
            key={keyOf(row)}
            aria-rowindex={index + 2}
            className={`${styles['row']} ${styles['virtual']}`}
            style={{ transform: `translateY(${start - top}px)` }}
          >
            <Cells columns={columns} row={row} />
          </div>
        );
      })}
    </div>
  );
}

interface CellsProps<T> {
  readonly columns: readonly Column<T>[];
  readonly row: T;
}

function DrawnCells<T>({ columns, row }: CellsProps<T>): ReactNode {
  return columns.map((column) => (
    <div role="cell" key={column.title} className={cellClass(column)}>
      {column.cell(row)}
    </div>
  ));
}

/** The cells of a row are drawn anew only for another row object: of a long list, one row changes at a time. */
const Cells = memo(DrawnCells) as typeof DrawnCells;

const cellClass = ({ align, extra }: Pick<Column<never>, 'align' | 'extra'>): string =>
  [styles['cell'], align === 'right' && styles['right'], extra === true && styles['extra']].filter(Boolean).join(' ');

/** The widths of the columns, and the least that all of them need. */
function gridOf<T>(columns: readonly Column<T>[], suffix: string): CSSProperties {
  const widths = columns.map(({ px, share }) => (share === undefined ? `${px}px` : `minmax(${px}px, ${share}fr)`));
  const least = columns.reduce((sum, { px }) => sum + px + GAP_PX, GAP_PX);
  return { [`--columns${suffix}`]: widths.join(' '), [`--least${suffix}`]: `${least}px` } as CSSProperties;
}
