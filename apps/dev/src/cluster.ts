import type { ServiceState } from '@waybill/service';

/** The running services, in one process or in many. */
export interface Cluster {
  states(): ServiceState[] | Promise<ServiceState[]>;
  /** Ends all services in the reverse of the order they started. */
  stop(): Promise<void>;
}

/** What the services need to know of the servers beside them, and of this machine. */
export interface ClusterEnvironment {
  readonly env: NodeJS.ProcessEnv;
  readonly logDir: string;
  readonly say: (line: string) => void;
}
