import { errorText } from '@waybill/model';
import type { ServiceState } from '@waybill/service';
import type { ServiceName } from './service-names.js';

/** The running services, in one process or in many. */
export interface Cluster {
  states(): ServiceState[] | Promise<ServiceState[]>;
  /** Ends all services in the reverse of the order they started. */
  stop(): Promise<void>;
}

/** What the services need to know of the servers beside them, and of this machine. */
export interface ClusterEnvironment {
  readonly env: NodeJS.ProcessEnv;
  /** What is different for the agent, which has no more rights than one on a machine of its own. */
  readonly agentEnv: NodeJS.ProcessEnv;
  readonly logDir: string;
  /** Which services are started. */
  readonly services: readonly ServiceName[];
  /** Aborted when the run is to end: a start that takes long gives up. */
  readonly signal: AbortSignal;
  /** Something a person should know, while everything goes on. */
  readonly say: (line: string) => void;
  /** Something that cannot go on; only where all services share one process. */
  readonly onFatal: (error: Error) => void;
}

/** A service did not start. `logFile` has what it wrote. */
export class ServiceStartError extends Error {
  override readonly name = 'ServiceStartError';
  constructor(
    readonly service: string,
    readonly logFile: string,
    cause: unknown,
  ) {
    super(`${service} does not start: ${errorText(cause)} (log: ${logFile})`, {
      cause,
    });
  }
}
