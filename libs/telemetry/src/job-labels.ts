import type { Labels } from './figures.js';

/** The names of children are `<parent>/dispatch-<unix>-<hex>` and `<parent>/periodic-<unix>`. */
const CHILD = /^.*\/(dispatch|periodic)-(.+)$/;

/** LabelledJob has the members of a job that distinguish its series from those of other jobs (OP-104). */
export interface LabelledJob {
  readonly ID: string;
  readonly Namespace: string;
  /** The ID is empty if the job has no parent. */
  readonly ParentID: string;
}

export function jobLabels({ ID, Namespace, ParentID }: LabelledJob): Labels {
  const [, kind, id] = ParentID === '' ? [] : (CHILD.exec(ID) ?? []);
  const child: Labels = kind && id ? { parent_id: ParentID, [`${kind}_id`]: id } : {};
  return { job: ID, namespace: Namespace, ...child };
}
