import { useNavigate } from '@tanstack/react-router';
import { type MouseEvent, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { onThemeChange, themeVersion } from '../../app/theme.js';
import { type CellGrid, cellAt, gridOf } from './cell-grid.js';
import styles from './machine-map.module.css';
import { type Machine, type Measure, shareOf } from './topology.js';

interface MachineMapProps {
  readonly machines: readonly Machine[];
  readonly by: Measure;
  readonly label: string;
}

const STEPS = 4;
const TAKES_NO_WORK = new Set(['ineligible', 'draining', 'initializing', 'disconnected']);

/** Every machine as a cell whose colour says how full it is. It is drawn, because thousands of elements would be slow. */
export function MachineMap({ machines, by, label }: MachineMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const theme = useSyncExternalStore(onThemeChange, themeVersion);
  const navigate = useNavigate();
  const grid = useMemo(() => gridOf(machines.length, width), [machines.length, width]);
  useEffect(() => {
    const place = canvas.current?.parentElement;
    if (!place) return undefined;
    const observer = new ResizeObserver(() => setWidth(place.clientWidth));
    observer.observe(place);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current) draw(canvas.current, machines, by, grid);
  }, [machines, by, grid, theme]);
  const machineUnder = ({ nativeEvent: { offsetX, offsetY } }: MouseEvent): Machine | undefined =>
    machines[cellAt(grid, offsetX, offsetY) ?? -1];
  return (
    <div className={styles['map']}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        onMouseMove={(event) => {
          const machine = machineUnder(event);
          event.currentTarget.title = machine
            ? `${machine.name}: ${machine.state}, ${Math.round(shareOf(machine, by) * 100)} % given`
            : '';
        }}
        onClick={(event) => {
          const machine = machineUnder(event);
          if (machine) void navigate({ to: '/clients/$id', params: { id: machine.id } });
        }}
      />
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, machines: readonly Machine[], by: Measure, grid: CellGrid): void {
  const scale = devicePixelRatio;
  canvas.width = Math.round(grid.width * scale);
  canvas.height = Math.round(grid.height * scale);
  canvas.style.width = `${grid.width}px`;
  canvas.style.height = `${grid.height}px`;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.scale(scale, scale);
  const colours = getComputedStyle(canvas);
  const colour = (name: string): string => colours.getPropertyValue(name);
  const steps = Array.from({ length: STEPS + 1 }, (_, at) => colour(`--use-${at}`));
  const [warn, bad] = [colour('--warn'), colour('--bad')];
  for (const [at, machine] of machines.entries()) {
    const left = (at % grid.columns) * grid.step;
    const top = Math.floor(at / grid.columns) * grid.step;
    const step = Math.min(STEPS, Math.round(shareOf(machine, by) * STEPS));
    context.fillStyle = machine.state === 'down' ? bad : (steps[step] ?? '');
    context.fillRect(left, top, grid.cell, grid.cell);
    if (!TAKES_NO_WORK.has(machine.state)) continue;
    context.strokeStyle = warn;
    context.lineWidth = 2;
    context.strokeRect(left + 1, top + 1, grid.cell - 2, grid.cell - 2);
  }
}
