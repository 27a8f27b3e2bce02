import { expect, it } from 'vitest';
import { cellAt, gridOf } from './cell-grid.js';

it('a few machines have large cells, thousands have small ones, and all of them fit', () => {
  expect(gridOf(3, 1_000).cell).toBe(28);
  for (const count of [1, 100, 5_000, 20_000])
    for (const width of [0, 300, 1_000]) {
      const { columns, step, cell, height } = gridOf(count, width);
      expect(cell).toBeGreaterThanOrEqual(8);
      expect(columns * Math.floor(height / step)).toBeGreaterThanOrEqual(count);
    }
});

it('finds the cell under a point, and none between the cells', () => {
  const grid = gridOf(100, 332);
  expect(cellAt(grid, 1, 1)).toBe(0);
  expect(cellAt(grid, grid.step + 1, grid.step + 1)).toBe(grid.columns + 1);
  expect(cellAt(grid, grid.cell + 1, 1)).toBeUndefined();
  expect(cellAt(grid, grid.columns * grid.step + 1, 1)).toBeUndefined();
});
