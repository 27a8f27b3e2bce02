/**
 * How long the names may be that users and machines give to things. Lengths are bytes of UTF-8 unless the constant says
 * characters. The contract sets the limits that are marked with a rule; all others are Waybill's own, because the
 * reference accepts names of any length and Waybill must store each of them in an index of PostgreSQL.
 *
 * Requests are refused by these limits. What the log holds is judged by what can be stored at all (storage-limits.ts),
 * so a log that was written under other limits still replays.
 */

/** Names of namespaces, policies and roles (OP-178). */
export const NAMESPACE_NAME = /^[a-zA-Z0-9-]{1,128}$/;
/** Names of node pools (ND-183). */
export const NODE_POOL_NAME = /^[a-zA-Z0-9-_]{1,128}$/;
/** Names of services, as RFC 1123 has a label of a host name (API-343). */
export const SERVICE_NAME = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/;
/** Names of a task's identities, which are parts of the names of files and variables (AU-122). */
export const IDENTITY_NAME = /^[a-zA-Z0-9-_]{1,128}$/;
/** Names of a task's actions: up to 128 characters, none of them NUL or white space of ASCII (API-340). */
// oxlint-disable-next-line no-control-regex
export const ACTION_NAME = /^[^\0\t\n\f\r ]{1,128}$/u;

/**
 * A job's ID as a user gives it. With a namespace it takes a quarter of what an index holds, which leaves room for what
 * launches and dispatches append, and it fits a request's path also where every byte is escaped.
 */
export const MAX_JOB_ID_BYTES = 512;
/** As the ID, which is its default. */
export const MAX_JOB_NAME_BYTES = MAX_JOB_ID_BYTES;
/** A prefix that a dispatch asks for in its child's ID. */
export const MAX_DISPATCH_PREFIX_BYTES = 128;
/** A token that makes a dispatch happen once. It stays with the job as long as the job does. */
export const MAX_IDEMPOTENCY_TOKEN_BYTES = 1_024;
/** Part of an allocation's name, and of the IDs of its group's services. */
export const MAX_GROUP_NAME_BYTES = 255;
/** A directory and, with an ending of its own, a log file on the machine, where a name has at most 255 bytes. */
export const MAX_TASK_NAME_BYTES = 128;
/** Part of the ID of each service on the port, and of the names of variables in the environment. */
export const MAX_PORT_LABEL_BYTES = 128;
/** A name with variables in it, before the machine fills them in. What comes of it must be a `SERVICE_NAME`. */
export const MAX_SERVICE_TEMPLATE_BYTES = 512;
/** IDs of a service's registrations: those of allocation, group or task, service and port, one behind the other. */
export const MAX_REGISTRATION_ID_BYTES = 1_536;
/** IDs and names of volumes, also those of a `per_alloc` volume, which end in `[<n>]`. */
export const MAX_VOLUME_NAME_BYTES = 255;
/** IDs of CSI plugins. */
export const MAX_PLUGIN_ID_BYTES = 255;
/** Names of datacenters and node classes, and the patterns by which jobs choose datacenters. */
export const MAX_DATACENTER_BYTES = 255;
/** Names of a job's versions. */
export const MAX_VERSION_TAG_BYTES = 255;
/** Names of machines: a host name has at most 253 characters. */
export const MAX_NODE_NAME_BYTES = 255;
/** IDs of machines, allocations, evaluations and deployments are UUIDs; the rest is room for those of tests and tools. */
export const MAX_OBJECT_ID_BYTES = 128;

/** Characters of what people say about a namespace or node pool (OP-178, ND-183). */
export const MAX_DESCRIPTION_CHARS = 256;
/** Characters of what the user interface shows of a job (API-330), and of a version's tag (API-166). */
export const MAX_LONG_DESCRIPTION_CHARS = 1_000;

/** Empty, or that the name is longer than it may be. @param what it names, as the sentence begins */
export function nameLengthErrors(what: string, name: string, maxBytes: number): string[] {
  // A unit of UTF-16 takes at most three bytes: most names need no counting.
  if (name.length * 3 <= maxBytes) return [];
  const bytes = utf8.encode(name).length;
  return bytes > maxBytes ? [`${what} must be at most ${maxBytes} bytes, currently ${bytes}`] : [];
}

const utf8 = new TextEncoder();
