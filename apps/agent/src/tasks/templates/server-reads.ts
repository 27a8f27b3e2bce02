import { createHash } from 'node:crypto';
import type { ServiceRegistration, Timers } from '@waybill/model';
import {
  listVariables,
  MAX_ALLOC_QUERY_WAIT_MS,
  namedServices,
  readVariable,
  type Rpc,
  serviceNames,
  type ServiceNamesRequest,
} from '@waybill/rpc';
import { pause } from '../../waiting/gate.js';
import type { ServerSources, TemplateSource, VariableValue } from './template-source.js';

/** The pause in milliseconds after a failed read. */
export const SERVER_READ_RETRY_MS = 2_000;

export interface ServerReadsDependencies {
  readonly rpc: Rpc;
  readonly timers: Timers;
  readonly identity: () => { readonly ID: string; readonly SecretID: string };
}

/** Ask reads from the servers and returns the part of the answer that templates get. */
type Ask = (at: ServiceNamesRequest) => Promise<{ readonly index: number; readonly value: unknown }>;

/** Question is something that templates of an allocation read. */
interface Question {
  readonly allocId: string;
  /** The key of the question. Watchers with the same key share the answer. */
  readonly key: string;
  readonly ask: Ask;
}

interface Read {
  readonly watchers: Set<(value: unknown) => void>;
  /** The last answer; undefined before the first one. */
  last: Awaited<ReturnType<Ask>> | undefined;
}

/**
 * ServerReads are the reads of this machine's templates at the servers: services of the built-in provider, and
 * variables with the rights of the task's identity. Each allocation, task and question has one read, which waits at the
 * servers as long as it is watched. A watcher that begins during the wait takes it over, so a task that restarts often
 * leaves no reads behind. Memory: the last answer to each question.
 */
export class ServerReads {
  private readonly reads = new Map<string, Read>();

  constructor(private readonly deps: ServerReadsDependencies) {}

  /** Returns what a task may read: services of its namespace, variables by its identity. */
  of(allocId: string, task: string): ServerSources {
    const source = (kind: string, ask: (name: string) => Ask): TemplateSource => ({
      watch: (name, tell, signal) =>
        this.watch({ allocId, key: [allocId, kind, name].join('\n'), ask: ask(name) }, tell, signal),
    });
    return {
      service: source('service', this.named),
      services: source('services', () => this.names),
      variable: source(`variable of ${task}`, (name) => this.variable(task, name)),
      variables: source(`variables of ${task}`, (name) => this.variables(task, name)),
    };
  }

  private variable(Task: string, name: string): Ask {
    const { path: Path, namespace: Namespace } = variableName(name);
    return async (at) => {
      const { Items, IsDenied, Index } = await this.deps.rpc.ask(readVariable, { ...at, Task, Namespace, Path });
      return { index: Index, value: { items: Items, isDenied: IsDenied } satisfies VariableValue };
    };
  }

  private variables(Task: string, name: string): Ask {
    const { path: Prefix, namespace: of } = variableName(name);
    return async (at) => {
      const { Namespace, Paths, Index } = await this.deps.rpc.ask(listVariables, {
        ...at,
        Task,
        Namespace: of,
        Prefix,
      });
      return { index: Index, value: Paths.map((Path) => ({ Namespace, Path })) };
    };
  }

  private readonly named =
    (ServiceName: string): Ask =>
    async (at) => {
      const { Services, Index } = await this.deps.rpc.ask(namedServices, { ...at, ServiceName });
      return { index: Index, value: Services.map(templateService) };
    };

  private readonly names: Ask = async (at) => {
    const { Services, Index } = await this.deps.rpc.ask(serviceNames, at);
    return { index: Index, value: Services };
  };

  private watch({ allocId, key, ask }: Question, tell: (value: unknown) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    const waiting = this.reads.get(key);
    const read = waiting ?? { watchers: new Set(), last: undefined };
    read.watchers.add(tell);
    signal.addEventListener('abort', () => read.watchers.delete(tell), { once: true });
    if (read.last) tell(read.last.value);
    if (waiting) return;
    this.reads.set(key, read);
    void this.repeatRead(allocId, ask, read).finally(() => this.reads.delete(key));
  }

  private async repeatRead(AllocID: string, ask: Ask, read: Read): Promise<void> {
    const { timers, identity } = this.deps;
    while (read.watchers.size > 0) {
      try {
        const { ID: NodeID, SecretID } = identity();
        const MinQueryIndex = read.last?.index ?? 0;
        const answer = await ask({ NodeID, SecretID, AllocID, MinQueryIndex, MaxQueryTimeMs: MAX_ALLOC_QUERY_WAIT_MS });
        read.last = answer;
        for (const tell of read.watchers) tell(answer.value);
      } catch {
        // After any error, the last answer holds until the servers are back.
        await pause(timers, SERVER_READ_RETRY_MS);
      }
    }
  }
}

/** Parses the name of a variable in a template: `path`, or `path@namespace`. */
function variableName(name: string): { readonly path: string; readonly namespace: string } {
  const at = name.lastIndexOf('@');
  return at === -1 ? { path: name, namespace: '' } : { path: name.slice(0, at), namespace: name.slice(at + 1) };
}

/** Returns a service as templates see it. */
const templateService = (service: ServiceRegistration) => ({
  ID: service.ID,
  Name: service.ServiceName,
  Node: service.NodeID,
  Datacenter: service.Datacenter,
  Namespace: service.Namespace,
  JobID: service.JobID,
  AllocID: service.AllocID,
  Address: service.Address,
  Port: service.Port,
  Tags: service.Tags ?? [],
});

/** Chooses `count` services. The same key gets the same services as long as they exist (rendezvous hashing). */
export function chosenServices(services: readonly { readonly ID: string }[], count: number, key: string) {
  const weight = (id: string): string => createHash('sha256').update(`${key}\n${id}`).digest('hex');
  return services
    .map((service) => ({ service, weight: weight(service.ID) }))
    .toSorted((a, b) => (a.weight < b.weight ? -1 : 1))
    .slice(0, Math.max(0, count))
    .map(({ service }) => service);
}
