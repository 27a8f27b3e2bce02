import {
  allocIndex,
  type Allocation,
  type AllocNetworkStatus,
  findTaskGroup,
  type Job,
  type Node,
  type Task,
} from '@waybill/model';
import type { TaskPaths } from '../drivers/driver.js';

/** Variables that a task never gets from the agent's environment (AG-233). */
export const WITHHELD_HOST_VARIABLES: ReadonlySet<string> = new Set([
  'CONSUL_TOKEN',
  'CONSUL_HTTP_TOKEN',
  'CONSUL_HTTP_TOKEN_FILE',
  'NOMAD_TOKEN',
  'NOMAD_CLIENT_INTRO_TOKEN',
  'VAULT_TOKEN',
  'NOMAD_LICENSE',
  'NOMAD_LICENSE_PATH',
  'CONSUL_LICENSE',
  'CONSUL_LICENSE_PATH',
  'VAULT_LICENSE',
  'VAULT_LICENSE_PATH',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_METADATA_URL',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'GOOGLE_OAUTH_ACCESS_TOKEN',
]);
/** Prefixes of the agent's own settings. Some of these are URLs with passwords. */
export const WITHHELD_PREFIXES = ['WAYBILL_', 'OTEL_EXPORTER_'];

/** In names with these prefixes, `_` replaces each character that shells do not accept (AG-230). */
const CLEANED_PREFIXES = ['NOMAD_ADDR_', 'NOMAD_IP_', 'NOMAD_PORT_', 'NOMAD_HOST_PORT_', 'NOMAD_META_'];

export interface TaskEnvInput {
  readonly alloc: Allocation;
  readonly job: Job;
  /** The task; null if the interpolation is for the group. */
  readonly task: Task | null;
  readonly node: Node;
  readonly region: string;
  /** The directories; null if there are none in this use. */
  readonly paths: TaskPaths | null;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** The network of the allocation's namespace; absent or null if it has no address of its own. */
  readonly network?: AllocNetworkStatus | null | undefined;
  /** The variables that hooks add (AG-232). */
  readonly added?: Readonly<Record<string, string>>;
}

/** TaskEnv is a task's environment, and replaces `${…}` in configuration (agent.md section 20). Immutable. */
export class TaskEnv {
  readonly variables: Readonly<Record<string, string>>;
  private readonly nodeFacts: ReadonlyMap<string, string>;

  constructor(input: TaskEnvInput) {
    this.nodeFacts = factsOf(input.node, input.region);
    const given = cleanNames({
      ...fromHost(input.hostEnv),
      ...identityVariables(input),
      ...portVariables(input),
      ...namespaceVariables(input),
      ...taskNetworkVariables(input),
    });
    const meta = cleanNames(metaVariables(input));
    const described = { ...given, ...this.replacedIn(meta, { ...given, ...meta }) };
    this.variables = { ...described, ...this.replacedIn(input.task?.Env ?? {}, described), ...input.added };
  }

  private replacedIn(texts: Readonly<Record<string, string>>, variables: Readonly<Record<string, string>>) {
    const all = Object.entries(texts).map(
      ([name, text]) => [name, replaceReferences(text, variables, this.nodeFacts)] as const,
    );
    return Object.fromEntries(all);
  }

  /** Returns a variable or an attribute of the machine by its name. */
  lookup(name: string): string | undefined {
    return variableValue(name, this.variables, this.nodeFacts);
  }

  /** Replaces references to known variables, and leaves all other text unchanged (AG-234). */
  interpolate(text: string): string {
    return replaceReferences(text, this.variables, this.nodeFacts);
  }

  /** Interpolates all texts inside lists and maps. */
  interpolateAll(value: unknown): unknown {
    if (typeof value === 'string') return this.interpolate(value);
    if (Array.isArray(value)) return value.map((item) => this.interpolateAll(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.interpolateAll(item)]));
  }
}

function identityVariables({ alloc, job, task, node, region, paths }: TaskEnvInput): Record<string, string> {
  const given = task ? alloc.AllocatedResources.Tasks[task.Name] : undefined;
  const memory = given?.Memory.MemoryMB ?? task?.Resources.MemoryMB ?? 0;
  const memoryMax = given?.Memory.MemoryMaxMB ?? task?.Resources.MemoryMaxMB ?? 0;
  const cpu = given?.Cpu.CpuShares ?? task?.Resources.CPU ?? 0;
  const all: Record<string, string> = {
    NOMAD_ALLOC_DIR: paths?.allocDir ?? '',
    NOMAD_TASK_DIR: paths?.localDir ?? '',
    NOMAD_SECRETS_DIR: paths?.secretsDir ?? '',
    NOMAD_MEMORY_LIMIT: positiveText(memory),
    NOMAD_MEMORY_MAX_LIMIT: positiveText(memoryMax),
    NOMAD_CPU_LIMIT: positiveText(cpu),
    NOMAD_CPU_CORES: (given?.Cpu.ReservedCores ?? []).join(','),
    NOMAD_ALLOC_ID: alloc.ID,
    NOMAD_SHORT_ALLOC_ID: alloc.ID.slice(0, 8),
    NOMAD_ALLOC_NAME: alloc.Name,
    NOMAD_ALLOC_INDEX: String(Math.max(0, allocIndex(alloc.Name))),
    NOMAD_GROUP_NAME: alloc.TaskGroup,
    NOMAD_TASK_NAME: task?.Name ?? '',
    NOMAD_JOB_ID: job.ID,
    NOMAD_JOB_NAME: job.Name,
    NOMAD_JOB_PARENT_ID: job.ParentID,
    NOMAD_DC: node.Datacenter,
    NOMAD_NAMESPACE: alloc.Namespace,
    NOMAD_REGION: region,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

/**
 * Returns the variables for the metadata of job, group and task. The task's values take precedence, then the group's
 * (AG-226).
 */
function metaVariables({ alloc, job, task }: TaskEnvInput): Record<string, string> {
  const meta = { ...job.Meta, ...findTaskGroup(job, alloc.TaskGroup)?.Meta, ...task?.Meta };
  return Object.fromEntries(
    Object.entries(meta).flatMap(([key, value]) => [
      [`NOMAD_META_${key.toUpperCase()}`, value],
      [`NOMAD_META_${key}`, value],
    ]),
  );
}

/** Returns the variables with address and number of each of the allocation's ports (AG-227). */
function portVariables({ alloc }: TaskEnvInput): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const { Label: label, Value: port, To: to, HostIP: ip } of alloc.AllocatedResources.Shared.Ports ?? []) {
    const address = addressOf(ip, port);
    const inside = String(to > 0 ? to : port);
    Object.assign(variables, {
      [`NOMAD_IP_${label}`]: ip,
      [`NOMAD_HOST_IP_${label}`]: ip,
      [`NOMAD_PORT_${label}`]: inside,
      [`NOMAD_ALLOC_PORT_${label}`]: inside,
      [`NOMAD_HOST_PORT_${label}`]: String(port),
      [`NOMAD_ADDR_${label}`]: address,
      [`NOMAD_HOST_ADDR_${label}`]: address,
    });
  }
  return variables;
}

/**
 * Returns the variables for the address of a task in its own network namespace, or none without one (AG-228, NW-101).
 */
function namespaceVariables({ alloc, network }: TaskEnvInput): Record<string, string> {
  if (!network) return {};
  const variables: Record<string, string> = {};
  for (const { Label: label, Value: port, To: to } of alloc.AllocatedResources.Shared.Ports ?? [])
    Object.assign(variables, {
      [`NOMAD_ALLOC_INTERFACE_${label}`]: network.InterfaceName,
      [`NOMAD_ALLOC_IP_${label}`]: network.Address,
      [`NOMAD_ALLOC_ADDR_${label}`]: addressOf(network.Address, to > 0 ? to : port),
    });
  return variables;
}

/**
 * Returns the variables for networks of tasks, which only old jobs have: the task's own by label, those of other tasks
 * by task and label (AG-227, AG-229).
 */
function taskNetworkVariables({ alloc, task }: TaskEnvInput): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, { Networks }] of Object.entries(alloc.AllocatedResources.Tasks))
    for (const { IP, ReservedPorts, DynamicPorts } of Networks ?? [])
      for (const { Label, Value } of [...(ReservedPorts ?? []), ...(DynamicPorts ?? [])]) {
        const isOwn = name === task?.Name;
        const key = isOwn ? Label : `${name}_${Label}`;
        Object.assign(variables, {
          [`NOMAD_ADDR_${key}`]: addressOf(IP, Value),
          [`NOMAD_IP_${key}`]: IP,
          [`NOMAD_PORT_${key}`]: String(Value),
          ...(isOwn && { [`NOMAD_HOST_PORT_${key}`]: String(Value), [ipVariable(IP, key)]: IP }),
        });
      }
  return variables;
}

/** Returns the name of the variable with the number of a port (AG-227, AG-230). */
export const portVariable = (label: string): string => cleanName(`NOMAD_PORT_${label}`);

const isIPv6 = (ip: string): boolean => ip.includes(':');
const addressOf = (ip: string, port: number): string => `${isIPv6(ip) ? `[${ip}]` : ip}:${port}`;
const ipVariable = (ip: string, label: string): string => `NOMAD_IPv${isIPv6(ip) ? 6 : 4}_${label}`;

/**
 * Returns the variables that a task inherits from the machine (AG-232, AG-233). Those that the agent sets take
 * precedence.
 */
function fromHost(hostEnv: TaskEnvInput['hostEnv']): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(hostEnv)) {
    if (value === undefined || WITHHELD_HOST_VARIABLES.has(name)) continue;
    if (!WITHHELD_PREFIXES.some((prefix) => name.startsWith(prefix))) kept[name] = value;
  }
  return kept;
}

const cleanNames = (variables: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [cleanName(name), value]));

function cleanName(name: string): string {
  const unclean = CLEANED_PREFIXES.some((prefix) => name.startsWith(prefix));
  return unclean ? name.replaceAll(/[^A-Za-z0-9_.]/g, '_') : name;
}

function factsOf(node: Node, region: string): Map<string, string> {
  const facts = new Map([
    ['node.unique.id', node.ID],
    ['node.unique.name', node.Name],
    ['node.class', node.NodeClass],
    ['node.datacenter', node.Datacenter],
    ['node.region', region],
    ['node.pool', node.NodePool],
  ]);
  for (const [key, value] of Object.entries(node.Attributes)) facts.set(`attr.${key}`, value);
  for (const [key, value] of Object.entries(node.Meta)) facts.set(`meta.${key}`, value);
  return facts;
}

const REFERENCE = /\$\{([^${}]*)\}/g;
const ENV_REFERENCE = /^env\["([^"]*)"\]$/;

function replaceReferences(
  text: string,
  variables: Readonly<Record<string, string>>,
  facts: ReadonlyMap<string, string>,
): string {
  return text.replaceAll(REFERENCE, (whole, name: string) => {
    const key = name.trim();
    const variable = ENV_REFERENCE.exec(key)?.[1] ?? key;
    return facts.get(key) ?? variableValue(variable, variables, new Map()) ?? whole;
  });
}

const variableValue = (
  name: string,
  variables: Readonly<Record<string, string>>,
  facts: ReadonlyMap<string, string>,
): string | undefined => facts.get(name) ?? (Object.hasOwn(variables, name) ? variables[name] : undefined);

const positiveText = (amount: number): string => (amount > 0 ? String(amount) : '');
