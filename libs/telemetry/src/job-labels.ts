import type { Labels } from './figures.js';

/** `<parent>/dispatch-<unix>-<hex>` and `<parent>/periodic-<unix>`. */
const CHILD = /^.*\/(dispatch|periodic)-(.+)$/;

/** What of a job tells its series from those of others (OP-104). */
export interface LabelledJob {
  readonly ID: string;
  readonly Namespace: string;
  /** Empty: it is nobody's child. */
  readonly ParentID: string;
}

export function jobLabels({ ID, Namespace, ParentID }: LabelledJob): Labels {
  const [, kind, id] = ParentID === '' ? [] : (CHILD.exec(ID) ?? []);
  const child: Labels = kind && id ? { parent_id: ParentID, [`${kind}_id`]: id } : {};
  return { job: ID, namespace: Namespace, ...child };
}
