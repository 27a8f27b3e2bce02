import { type Change, namespacedKey, type TableName } from '@waybill/state';

/**
 * A table and a key that a blocking query can watch: a row by the table's own key, the rows of a job, node, evaluation
 * or deployment by one of the keys below, or a whole table. The projector announces all of these keys for every change.
 */
export type WatchKey = readonly [table: TableName, key: string];

/** Stands for every key of a table. No key of a row or group equals it. */
export const WHOLE_TABLE = '*';

/** Key of the rows of a job: its versions, evaluations, allocations, deployments, services. */
export const rowsOfJob = (namespace: string, jobId: string): string => `job:${namespacedKey(namespace, jobId)}`;
export const rowsOfNode = (nodeId: string): string => `node:${nodeId}`;
export const rowsOfEval = (evalId: string): string => `eval:${evalId}`;
export const rowsOfDeployment = (deploymentId: string): string => `deployment:${deploymentId}`;
export const rowsOfService = (namespace: string, name: string): string => `service:${namespacedKey(namespace, name)}`;
/** Key of the policies that are for workloads of a namespace (their JobACL). The name of a policy contains no colon. */
export const policiesOfWorkloads = (namespace: string): string => `workloads:${namespace}`;

/** Returns the groups of a changed row before and after the change. */
function groupsOf(change: Change): string[] {
  switch (change.table) {
    case 'allocs':
      return [change.before, change.after].flatMap((row) =>
        row
          ? [
              rowsOfJob(row.Namespace, row.JobID),
              rowsOfNode(row.NodeID),
              rowsOfEval(row.EvalID),
              ...(row.DeploymentID ? [rowsOfDeployment(row.DeploymentID)] : []),
            ]
          : [],
      );
    case 'service_registrations':
      return [change.before, change.after].flatMap((row) =>
        row ? [rowsOfJob(row.Namespace, row.JobID), rowsOfService(row.Namespace, row.ServiceName)] : [],
      );
    case 'acl_policy':
      return [change.before, change.after].flatMap((row) =>
        row?.JobACL ? [policiesOfWorkloads(row.JobACL.Namespace)] : [],
      );
    case 'evals':
    case 'deployment':
      return [change.before, change.after].flatMap((row) => (row ? [rowsOfJob(row.Namespace, row.JobID)] : []));
    case 'job_version': {
      const row = change.after ?? change.before;
      return row ? [rowsOfJob(row.Namespace, row.ID)] : [];
    }
    default:
      return [];
  }
}

/**
 * Returns all keys that watchers of these changes may wait for, without duplicates. O(changes).
 * @param most limit above which only tables are returned
 */
export function watchKeysOf(changes: readonly Change[], most = Infinity): WatchKey[] {
  // Every change has at least one key, so more changes than `most` need no counting.
  if (changes.length > most) return wholeTables(changes.map(({ table }) => table));
  const byTable = new Map<TableName, Set<string>>();
  for (const change of changes) {
    let keys = byTable.get(change.table);
    if (!keys) byTable.set(change.table, (keys = new Set()));
    keys.add(change.key);
    for (const group of groupsOf(change)) keys.add(group);
  }
  const named = [...byTable].flatMap(([table, keys]) => [...keys].map((key): WatchKey => [table, key]));
  return named.length > most ? wholeTables(byTable.keys()) : named;
}

/** Returns the keys of whole tables, without duplicates. */
export const wholeTables = (tables: Iterable<TableName>): WatchKey[] =>
  [...new Set(tables)].map((table): WatchKey => [table, WHOLE_TABLE]);
