import type { LoggedTxn } from '@waybill/projection';

/** Returns a record of the log as the broker writes it. It changes nothing and reports no steps. */
export const aLoggedTxn = (over: Partial<LoggedTxn>): LoggedTxn => ({
  index: 1,
  timeNs: 0,
  type: 0,
  name: 'EvalUpdate',
  region: 'global',
  namespace: 'default',
  actor: { Kind: 'role', ID: 'broker', Name: 'broker' },
  requestId: '51d0',
  reason: '',
  traceparent: '',
  stepTimes: '',
  role: 'broker',
  epoch: 7,
  verdict: 'accepted',
  error: '',
  objects: [],
  ...over,
});
