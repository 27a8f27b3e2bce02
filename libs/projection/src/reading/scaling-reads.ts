import type { JobScalingEvents, ScalingPolicy } from '@waybill/model';
import { Conditions, findStatement, type Namespaces } from './list-query.js';
import { byId } from './page.js';
import { type Found, type Listed, listOf, type ListOptions, type RowReads } from './row-reads.js';

export interface ScalingPolicyListOptions extends ListOptions<ScalingPolicy> {
  readonly namespaces: Namespaces;
  readonly jobId?: string | undefined;
  /** Prefix of the type: `vertical` also finds `vertical_cpu`. */
  readonly type?: string | undefined;
}

const FIND = {
  events: findStatement('scaling_event', ['namespace', 'job_id']),
  policy: findStatement('scaling_policy', ['id']),
} as const;

/** Reads of scaling policies and events. Part of the read model. */
export class ScalingReads {
  constructor(private readonly rows: RowReads) {}

  /** Returns the scaling events of one job. */
  events(namespace: string, jobId: string): Promise<Found<JobScalingEvents>> {
    return this.rows.find(FIND.events, [namespace, jobId]);
  }

  policy(id: string): Promise<Found<ScalingPolicy>> {
    return this.rows.find(FIND.policy, [id]);
  }

  policies(options: ScalingPolicyListOptions): Promise<Listed<ScalingPolicy>> {
    const { namespaces, prefix = '', jobId, type = '' } = options;
    const conditions = (): Conditions => {
      const chosen = new Conditions().in(namespaces).startsWith('id', prefix.toLowerCase()).startsWith('type', type);
      return jobId === undefined ? chosen : chosen.equal('job_id', jobId);
    };
    return this.rows.list(listOf('scaling_policy', conditions, byId<ScalingPolicy>(), options), options.keep);
  }
}
