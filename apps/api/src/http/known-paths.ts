/** Paths that exist, whatever the method: a wrong method on one of these is 405, on any other path 404 (API-2, API-3). */
const KNOWN_PATHS: readonly RegExp[] = [
  /^\/v1\/jobs$/,
  /^\/v1\/job\/.+/,
  /^\/v1\/validate\/job$/,
  /^\/v1\/allocations$/,
  /^\/v1\/allocation\/[^/]+(\/stop)?$/,
  /^\/v1\/evaluations(\/count)?$/,
  /^\/v1\/evaluation\/[^/]+(\/allocations)?$/,
  /^\/v1\/nodes$/,
  /^\/v1\/node\/[^/]+(\/(allocations|drain|eligibility|evaluate|purge))?$/,
  /^\/v1\/node\/pool\/[^/]+(\/(nodes|jobs))?$/,
  /^\/v1\/deployments$/,
  /^\/v1\/deployment\/[^/]+$/,
  /^\/v1\/deployment\/allocations\/[^/]+$/,
  /^\/v1\/deployment\/(fail|pause|promote|unblock|allocation-health|run|cancel)\/[^/]+$/,
  /^\/v1\/event\/stream$/,
  /^\/v1\/waybill\/log$/,
  /^\/v1\/waybill\/state\/[^/]+\/.+/,
  /^\/v1\/status\/(leader|peers)$/,
  /^\/v1\/agent\/(self|health|members)$/,
  /^\/v1\/regions$/,
  /^\/v1\/namespaces$/,
  /^\/v1\/operator\/scheduler\/configuration$/,
  /^\/v1\/system\/gc$/,
  /^\/v1\/client\/fs\/logs\/[^/]+$/,
  /^\/v1\/client\/allocation\/[^/]+\/(stats|restart|signal|gc)$/,
  /^\/v1\/client\/(stats|gc)$/,
];

export function isKnownPath(url: string): boolean {
  const path = url.split('?', 1)[0] ?? '';
  return KNOWN_PATHS.some((known) => known.test(path));
}
