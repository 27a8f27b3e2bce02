import type { AllocMetric, TaskGroup } from '../api/contract.js';
import { counted, megabytesInWords } from './sizes.js';

/** Wanted has the needs of a group that explain why a machine was not chosen. */
export type Wanted = Pick<TaskGroup, 'Tasks'>;

/**
 * Returns why allocations of a group could not be placed, one sentence per reason. The reason that excluded most
 * machines comes first.
 */
export function placementFailureInWords(metric: AllocMetric, wanted?: Wanted): readonly string[] {
  const reasons = [...filtered(metric, wanted), ...exhausted(metric, wanted)].toSorted((a, b) => b.count - a.count);
  return [...nobodyThere(metric), ...reasons.map(({ text }) => text), ...quotas(metric)];
}

interface Reason {
  readonly count: number;
  readonly text: string;
}

function nobodyThere({ NodesEvaluated, NodesAvailable, NodePool }: AllocMetric): readonly string[] {
  if (NodesEvaluated > 0) return [];
  const pool = NodePool === '' || NodePool === 'default' ? '' : ` in the node pool “${NodePool}”`;
  const empty = Object.entries(NodesAvailable ?? {}).filter(([, count]) => count === 0);
  if (empty.length === 0) return [`There is no machine${pool} that is ready and eligible.`];
  return empty.map(([name]) => `Datacenter “${name}” has no machine${pool} that is ready and eligible.`);
}

/** Describes machines that cannot take the allocation whatever is free on them. */
function filtered({ ConstraintFiltered, NodesEvaluated }: AllocMetric, wanted?: Wanted): readonly Reason[] {
  return Object.entries(ConstraintFiltered ?? {}).map(([constraint, count]) => ({
    count,
    text: `${share(count, NodesEvaluated)} ${constraintInWords(constraint, count, wanted)}.`,
  }));
}

/** Describes machines that could take it if they had more free. */
function exhausted({ DimensionExhausted, NodesEvaluated }: AllocMetric, wanted?: Wanted): readonly Reason[] {
  return Object.entries(DimensionExhausted ?? {}).map(([dimension, count]) => ({
    count,
    text: `${share(count, NodesEvaluated)} ${dimensionInWords(dimension, count, wanted)}.`,
  }));
}

const quotas = ({ QuotaExhausted }: AllocMetric): readonly string[] =>
  (QuotaExhausted ?? []).map((name) => `The quota “${name}” is used up.`);

const share = (count: number, of: number): string =>
  count === of ? (of === 1 ? 'The only machine' : `All ${of} machines`) : `${count} of ${counted(of, 'machine')}`;

const verb = (count: number, one: string, many: string): string => (count === 1 ? one : many);

function constraintInWords(constraint: string, count: number, wanted?: Wanted): string {
  const has = verb(count, 'has', 'have');
  const driver = /^missing drivers?(?: "?([^"]+)"?)?$/.exec(constraint);
  if (driver) return `${has} no driver ${driver[1] ?? driversOf(wanted)}`;
  if (constraint === 'missing network') return `${has} no network of the mode that the group asks for`;
  if (constraint === 'missing devices') return `${has} none of the devices that the group asks for`;
  if (constraint === 'missing compatible host volumes')
    return `${has} no host volume of the name that the group asks for`;
  if (constraint.startsWith('CSI plugin')) return `cannot mount the volume: ${constraint}`;
  if (constraint === 'distinct_hosts') return `already ${verb(count, 'runs', 'run')} one, and each must be on its own`;
  return `${verb(count, 'does', 'do')} not meet the constraint ${constraint}`;
}

function driversOf(wanted: Wanted | undefined): string {
  const names = [...new Set((wanted?.Tasks ?? []).map(({ Driver }) => Driver))];
  return names.length === 0 ? 'that the group needs' : names.join(' or no driver ');
}

function dimensionInWords(dimension: string, count: number, wanted?: Wanted): string {
  const has = verb(count, 'has', 'have');
  const sum = (of: 'MemoryMB' | 'CPU' | 'Cores'): number =>
    (wanted?.Tasks ?? []).reduce((total, task) => total + (task.Resources?.[of] ?? 0), 0);
  const need = (text: string): string => (wanted ? `: ${text} ${verb(1, 'is', 'are')} needed` : '');
  if (dimension === 'memory') return `${has} too little memory free${need(megabytesInWords(sum('MemoryMB')))}`;
  if (dimension === 'cpu') return `${has} too little CPU free${need(`${sum('CPU')} MHz`)}`;
  if (dimension === 'cores') return `${has} too few cores free${need(counted(sum('Cores'), 'core'))}`;
  if (dimension === 'disk') return `${has} too little disk free`;
  if (dimension.startsWith('network: ')) return `${verb(count, 'lacks', 'lack')} a port: ${dimension.slice(9)}`;
  return `${has} too little of “${dimension}” free`;
}
