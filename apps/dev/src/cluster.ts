import { errorText } from '@waybill/model';
import type { ServiceState } from '@waybill/service';
import type { ServiceName } from './service-names.js';

/** Cluster is the running services, in one process or in many. */
export interface Cluster {
  states(): ServiceState[] | Promise<ServiceState[]>;
  /** Stops all services in the reverse of their starting order. */
  stop(): Promise<void>;
}

/** ClusterEnvironment is what the services need to know about the servers beside them and about this machine. */
export interface ClusterEnvironment {
  readonly env: NodeJS.ProcessEnv;
  /**
   * The environment variables that differ for the agent. It has the same rights as an agent on a machine of its own.
   */
  readonly agentEnv: NodeJS.ProcessEnv;
  readonly logDir: string;
  /** The services to start. */
  readonly services: readonly ServiceName[];
  /** The signal is aborted when the run has to end. A start that takes long then stops. */
  readonly signal: AbortSignal;
  /** Shows a line that a person should know of while the run continues. */
  readonly say: (line: string) => void;
  /** Receives an error with which the run cannot continue. It is called only if all services share one process. */
  readonly onFatal: (error: Error) => void;
}

/** ServiceStartError says that a service did not start. `logFile` has its output. */
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
