import type { Action, Actions } from '../workload/action.js';
import { OPERATOR_ACTIONS } from '../workload/operator-actions.js';
import { ACCESS_ACTIONS, addNamespaces } from './access-actions.js';

const ADD_NAMESPACES = 'add namespaces';

/** What a run with access control begins with, so that there is something to read, and somebody who may. */
export const FIRST_ACCESS_EVENTS: readonly string[] = [
  ADD_NAMESPACES,
  ...Array.from({ length: 6 }, () => 'put policy'),
  ...Array.from({ length: 2 }, () => 'put role'),
  ...Array.from({ length: 4 }, () => 'make token'),
];

const ofOperators = (name: string): Action => OPERATOR_ACTIONS[name]?.[1] ?? (() => undefined);

export const ACCESS_EVENTS: Actions = { ...ACCESS_ACTIONS, [ADD_NAMESPACES]: [1, addNamespaces] };

/** What happens in such a run beside the usual workload. A restore takes policies, roles and tokens back too. */
export const ACCESS_WORKLOAD: Actions = {
  ...ACCESS_ACTIONS,
  'save snapshot': [2, ofOperators('save snapshot')],
  'restore snapshot': [0.8, ofOperators('restore snapshot')],
};

/** Not beside readers: the judgement follows the log, which this takes back. */
const WITHOUT_READERS = new Set(['NATS loses power']);

export const isWithReaders = ({ name }: { readonly name: string }): boolean => !WITHOUT_READERS.has(name);
