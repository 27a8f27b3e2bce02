import type { Actions } from '../workload/action.js';
import { ACCESS_ACTIONS, addNamespaces } from './access-actions.js';

const ADD_NAMESPACES = 'add namespaces';

/** What a run with access control begins with, so that there is something to read, and somebody who may. */
export const FIRST_ACCESS_EVENTS: readonly string[] = [
  ADD_NAMESPACES,
  ...Array.from({ length: 6 }, () => 'put policy'),
  ...Array.from({ length: 2 }, () => 'put role'),
  ...Array.from({ length: 4 }, () => 'make token'),
];

export const ACCESS_EVENTS: Actions = { ...ACCESS_ACTIONS, [ADD_NAMESPACES]: [1, addNamespaces] };

/** Not beside readers: the judgement follows the log, and these take it or the state back. */
const WITHOUT_READERS = new Set(['restore snapshot', 'NATS loses power']);

export const isWithReaders = ({ name }: { readonly name: string }): boolean => !WITHOUT_READERS.has(name);
