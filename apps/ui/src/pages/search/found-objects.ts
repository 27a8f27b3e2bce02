import type { FuzzySearchResponse } from '../../api/contract.js';

/** FoundObject is one result of a search, with the address of its page below `/ui`. */
export interface FoundObject {
  readonly kind: string;
  readonly name: string;
  /** What distinguishes the object from others of the same name. */
  readonly about: string;
  readonly address: string;
}

type Match = FuzzySearchResponse['Matches'][string][number];

const jobAt = (namespace: string, id: string): string =>
  `/jobs/${encodeURIComponent(id)}@${encodeURIComponent(namespace)}`;

/** The pages by kind of object, in the order in which they are shown. */
const KINDS: readonly (readonly [context: string, kind: string, of: (match: Match) => Omit<FoundObject, 'kind'>])[] = [
  [
    'jobs',
    'Job',
    ({ ID, Scope: [namespace = 'default', id = ID] = [] }) => ({
      name: ID,
      about: namespace,
      address: jobAt(namespace, id),
    }),
  ],
  ['groups', 'Group', inJob],
  ['tasks', 'Task', inJob],
  ['services', 'Service', inJob],
  ['images', 'Image', inJob],
  ['commands', 'Command', inJob],
  [
    'nodes',
    'Machine',
    ({ ID, Scope: [id = ID] = [] }) => ({ name: ID, about: id.slice(0, 8), address: `/clients/${id}` }),
  ],
  [
    'allocs',
    'Allocation',
    ({ ID, Scope: [, id = ID] = [] }) => ({ name: ID, about: id.slice(0, 8), address: `/allocations/${id}` }),
  ],
  ['evals', 'Evaluation', ({ ID }) => ({ name: ID, about: '', address: `/evaluations/${ID}` })],
  ['deployment', 'Deployment', ({ ID }) => ({ name: ID, about: '', address: `/deployments/${ID}` })],
];

function inJob({ ID, Scope: [namespace = 'default', job = ''] = [] }: Match): Omit<FoundObject, 'kind'> {
  return { name: ID, about: `of job ${job}`, address: jobAt(namespace, job) };
}

/** Returns the results that have a page, the most likely first. */
export const foundObjects = (matches: FuzzySearchResponse['Matches']): readonly FoundObject[] =>
  KINDS.flatMap(([context, kind, of]) => (matches[context] ?? []).map((match) => ({ kind, ...of(match) })));
