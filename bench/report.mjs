import { figure, goalMet } from './harness.mjs';

/**
 * The figures as a person reads them.
 *
 * @param {string} name of the benchmark
 * @param {import('./harness.mjs').Bench} bench
 * @param {ReturnType<typeof import('./machine.mjs').machineFacts>} machine
 */
export function table(name, bench, machine) {
  const rows = bench.metrics.map((metric) => [
    metric.name,
    `${figure(metric.value)} ${metric.unit}`.trim(),
    metric.runs > 1 ? `${figure(metric.low)} – ${figure(metric.high)}` : '',
    metric.runs > 1 ? String(metric.runs) : '',
    goalText(metric),
  ]);
  const ratios = bench.ratios.map((ratio) => `${ratio.name}: ${figure(ratio.value)} (${ratio.of} ÷ ${ratio.to})`);
  return [
    `${name} on ${machine.cpu}, ${machine.cores} cores, ${machine.memoryMb} MB`,
    `${machine.os} ${machine.arch}, node ${machine.node}, revision ${machine.revision}, ${machine.date}`,
    `yardstick ${machine.yardstickMs.map(figure).join(' ms before, ')} ms after`,
    '',
    ...columns([['metric', 'median', 'low – high', 'runs', 'goal'], ...rows]),
    ...(ratios.length > 0 ? ['', ...ratios] : []),
    ...(bench.notes.length > 0 ? ['', ...bench.notes] : []),
  ].join('\n');
}

/**
 * The figures as a program reads them: one line.
 *
 * @param {string} name
 * @param {import('./harness.mjs').Bench} bench
 * @param {ReturnType<typeof import('./machine.mjs').machineFacts>} machine
 */
export function jsonLine(name, bench, machine) {
  const metrics = Object.fromEntries([...bench.metrics, ...bench.ratios].map((one) => [one.name, round(one.value)]));
  return JSON.stringify({ bench: name, metrics, machine });
}

/** Four digits after the point are more than any of the figures can promise. @param {number} value */
const round = (value) => Math.round(value * 1e4) / 1e4;

/** @param {import('./harness.mjs').Metric} metric */
function goalText(metric) {
  const { goal } = metric;
  if (goal === undefined) return '';
  const text = 'atLeast' in goal ? `at least ${figure(goal.atLeast)}` : `below ${figure(goal.below)}`;
  return `${text}: ${goalMet(metric) ? 'met' : 'MISSED'}`;
}

/** @param {string[][]} rows */
function columns(rows) {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
