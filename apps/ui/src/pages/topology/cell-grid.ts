/** CellGrid is where the cells of a map are, in pixels. */
export interface CellGrid {
  readonly columns: number;
  /** The side of a cell. */
  readonly cell: number;
  /** The distance from one cell to the next. */
  readonly step: number;
  readonly width: number;
  readonly height: number;
}

const GAP = 2;
const LARGEST_CELL = 28;
const SMALLEST_CELL = 8;
/** The cells grow until the map is this high. */
const WANTED_HEIGHT = 160;
/** The padding of the map at both sides. */
const PADDING = 32;

/** Returns the grid with the largest cells whose map is not higher than it should be; the smallest cells may be higher. */
export function gridOf(count: number, placeWidth: number): CellGrid {
  const width = Math.max(SMALLEST_CELL + GAP, placeWidth - PADDING);
  for (let cell = LARGEST_CELL; ; cell -= 2) {
    const step = cell + GAP;
    const columns = Math.max(1, Math.floor((width + GAP) / step));
    const height = Math.ceil(count / columns) * step;
    if (height <= WANTED_HEIGHT || cell <= SMALLEST_CELL) return { columns, cell, step, width, height };
  }
}

/** Returns the number of the cell at a point, or undefined if there is none. */
export function cellAt({ columns, cell, step }: CellGrid, x: number, y: number): number | undefined {
  const [column, row] = [Math.floor(x / step), Math.floor(y / step)];
  if (x < 0 || y < 0 || column >= columns || x % step > cell || y % step > cell) return undefined;
  return row * columns + column;
}
