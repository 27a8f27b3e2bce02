import { globMatcher } from '@waybill/model';
import type { AuditFilterSetting } from '@waybill/service';
import type { Stage } from './audit-record.js';

/** What a filter decides by. */
export interface FilterQuestion {
  /** Path of the request. */
  readonly endpoint: string;
  /** Pattern of its route. */
  readonly route: string | undefined;
  readonly operation: string;
  readonly stage: Stage;
  /** Undefined: there is no answer yet. */
  readonly status: number | undefined;
}

export type LeavesOut = (question: FilterQuestion) => boolean;

const FORBIDDEN = 403;
const ACL = /^\/v1\/acl(\/|$)/;

/**
 * Whether any filter leaves a record out: its endpoints, stages and operations all match. None hides a request that was
 * answered 403, nor one about access control (AU-280). Both are told by the route, as a path may be written in many ways.
 */
export function leavesOut(filters: readonly AuditFilterSetting[]): LeavesOut {
  const matchers = filters.map(({ endpoints, stages, operations }) => ({
    endpoint: globMatcher(endpoints),
    stage: globMatcher(stages),
    operation: globMatcher(operations),
  }));
  return ({ endpoint, route = '', operation, stage, status }) => {
    if (status === FORBIDDEN || ACL.test(endpoint) || ACL.test(route)) return false;
    return matchers.some((filter) => filter.endpoint(endpoint) && filter.stage(stage) && filter.operation(operation));
  };
}
