/**
 * Limits of the names that users and machines give. Lengths are bytes of UTF-8 unless the constant says characters. The
 * contract sets the limits that name a rule. The others are Waybill's own, because the reference accepts names of any
 * length and Waybill must store each of them in an index of PostgreSQL.
 *
 * These limits apply to requests. The content of the log is checked against the limits of storage (storage-limits.ts),
 * so a log that was written under other limits still replays.
 */

/** Names of namespaces, policies and roles (OP-178). */
export const NAMESPACE_NAME = /^[a-zA-Z0-9-]{1,128}$/;
/** Names of node pools (ND-183). */
export const NODE_POOL_NAME = /^[a-zA-Z0-9-_]{1,128}$/;
/** Names of services: labels of a host name by RFC 1123 (API-343). */
export const SERVICE_NAME = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/;
/** Names of a task's identities, which become parts of names of files and variables (AU-122). */
export const IDENTITY_NAME = /^[a-zA-Z0-9-_]{1,128}$/;
/** Names of a task's actions: up to 128 characters, without NUL and ASCII white space (API-340). */
// oxlint-disable-next-line no-control-regex
export const ACTION_NAME = /^[^\0\t\n\f\r ]{1,128}$/u;

/**
 * ID of a job as a user gives it. With a namespace it takes a quarter of an index key, which leaves room for the
 * suffixes of launches and dispatches, and it fits a request's path even if every byte is escaped.
 */
export const MAX_JOB_ID_BYTES = 512;
/** Name of a job, which defaults to its ID. */
export const MAX_JOB_NAME_BYTES = MAX_JOB_ID_BYTES;
/** Prefix that a dispatch requests for its child's ID. */
export const MAX_DISPATCH_PREFIX_BYTES = 128;
/** Token that makes a dispatch idempotent. It is stored with the job. */
export const MAX_IDEMPOTENCY_TOKEN_BYTES = 1_024;
/** Name of a group. It is part of an allocation's name and of the IDs of its group's services. */
export const MAX_GROUP_NAME_BYTES = 255;
/**
 * Name of a task. It becomes a directory and, with a suffix, a log file on the machine, where names have at most 255
 * bytes.
 */
export const MAX_TASK_NAME_BYTES = 128;
/** Label of a port. It is part of the ID of each service on the port, and of names of environment variables. */
export const MAX_PORT_LABEL_BYTES = 128;
/** Name of a service before the machine fills in its variables. The result must be a `SERVICE_NAME`. */
export const MAX_SERVICE_TEMPLATE_BYTES = 512;
/** ID of a service's registration: those of allocation, group or task, service and port, joined. */
export const MAX_REGISTRATION_ID_BYTES = 1_536;
/** IDs and names of volumes, including those of `per_alloc` volumes, which end in `[<n>]`. */
export const MAX_VOLUME_NAME_BYTES = 255;
/** IDs of CSI plugins. */
export const MAX_PLUGIN_ID_BYTES = 255;
/** Names of datacenters and node classes, and the globs by which jobs choose datacenters. */
export const MAX_DATACENTER_BYTES = 255;
/** Names of tagged versions of a job. */
export const MAX_VERSION_TAG_BYTES = 255;
/** Names of machines. A host name has at most 253 characters. */
export const MAX_NODE_NAME_BYTES = 255;
/**
 * IDs of machines, allocations, evaluations and deployments. They are UUIDs, with room for the IDs of tests and tools.
 */
export const MAX_OBJECT_ID_BYTES = 128;

/** Characters of the description of a namespace or node pool (OP-178, ND-183). */
export const MAX_DESCRIPTION_CHARS = 256;
/** Characters of a job's description for the user interface (API-330) and of a version tag's (API-166). */
export const MAX_LONG_DESCRIPTION_CHARS = 1_000;

/**
 * Returns an error if a name is too long, otherwise nothing. @param what the thing that has the name, as the sentence
 * begins
 */
export function nameLengthErrors(what: string, name: string, maxBytes: number): string[] {
  // A unit of UTF-16 takes at most three bytes, so most names need no counting.
  if (name.length * 3 <= maxBytes) return [];
  const bytes = utf8.encode(name).length;
  return bytes > maxBytes ? [`${what} must be at most ${maxBytes} bytes, currently ${bytes}`] : [];
}

const utf8 = new TextEncoder();
