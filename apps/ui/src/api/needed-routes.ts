/**
 * The routes behind what the pages offer, as `/v1/waybill/rights` writes them: method, path, and the part if the route
 * has parts. A page offers something only to callers who may use its route. A test compares these texts with the routes
 * of a running server, because a misspelt one would hide a button from everybody.
 */
export const NEEDED_ROUTES = {
  runJob: 'PUT /v1/jobs',
  changeJob: 'PUT /v1/job/*',
  scaleJob: 'PUT /v1/job/* scale',
  evaluateJob: 'PUT /v1/job/* evaluate',
  launchJob: 'PUT /v1/job/* periodic/force',
  dispatchJob: 'PUT /v1/job/* dispatch',
  revertJob: 'PUT /v1/job/* revert',
  stopJob: 'DELETE /v1/job/*',
  restartAllocation: 'PUT /v1/client/allocation/:id/restart',
  readUsage: 'GET /v1/client/allocation/:id/stats',
  readMachineUsage: 'GET /v1/client/stats',
  listFiles: 'GET /v1/client/fs/ls/*',
  stopAllocation: 'PUT /v1/allocation/:id/stop',
  promoteDeployment: 'PUT /v1/deployment/promote/:id promote',
  pauseDeployment: 'PUT /v1/deployment/pause/:id pause',
  failDeployment: 'PUT /v1/deployment/fail/:id fail',
  drainNode: 'PUT /v1/node/:id/drain',
  setEligibility: 'PUT /v1/node/:id/eligibility',
  configureScheduler: 'PUT /v1/operator/scheduler/configuration',
  listVariables: 'GET /v1/vars',
  writeVariable: 'PUT /v1/var/*',
  deleteHostVolume: 'DELETE /v1/volume/host/:id',
  deleteVariable: 'DELETE /v1/var/*',
  listTokens: 'GET /v1/acl/tokens',
  createToken: 'PUT /v1/acl/token',
  changeToken: 'PUT /v1/acl/token/*',
  deleteToken: 'DELETE /v1/acl/token/*',
  writePolicy: 'PUT /v1/acl/policy/*',
  deletePolicy: 'DELETE /v1/acl/policy/*',
  createRole: 'PUT /v1/acl/role',
  changeRole: 'PUT /v1/acl/role/*',
  deleteRole: 'DELETE /v1/acl/role/*',
  createAuthMethod: 'PUT /v1/acl/auth-method',
  changeAuthMethod: 'PUT /v1/acl/auth-method/*',
  deleteAuthMethod: 'DELETE /v1/acl/auth-method/*',
  createBindingRule: 'PUT /v1/acl/binding-rule',
  changeBindingRule: 'PUT /v1/acl/binding-rule/*',
  deleteBindingRule: 'DELETE /v1/acl/binding-rule/*',
} as const;

export type NeededRoute = keyof typeof NEEDED_ROUTES;
