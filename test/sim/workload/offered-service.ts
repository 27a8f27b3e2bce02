import { NS_PER_SECOND, type Service, type ServiceCheck } from '@waybill/model';

const PORT = '8080';

const ALIVE: ServiceCheck = {
  Name: 'alive',
  Type: 'tcp',
  Command: '',
  Args: null,
  Path: '',
  Protocol: '',
  PortLabel: PORT,
  Expose: false,
  AddressMode: 'host',
  Interval: 5 * NS_PER_SECOND,
  Timeout: 2 * NS_PER_SECOND,
  InitialStatus: '',
  Notes: '',
  TLSServerName: '',
  TLSSkipVerify: false,
  Method: '',
  Header: null,
  CheckRestart: null,
  GRPCService: '',
  GRPCUseTLS: false,
  TaskName: '',
  SuccessBeforePassing: 0,
  FailuresBeforeCritical: 0,
  FailuresBeforeWarning: 0,
  Body: '',
  OnUpdate: 'require_healthy',
};

/** A check that nothing ever passes: what offers it is told as unhealthy once its deadline is over. */
export const NEVER_PASSES = 'never passes';

/** What the allocations of a group offer under a name, and how it is looked at. */
export const offeredService = (Name: string, checkName = ALIVE.Name): Service => ({
  Name,
  TaskName: '',
  PortLabel: PORT,
  AddressMode: 'host',
  Address: '',
  EnableTagOverride: false,
  Tags: null,
  CanaryTags: null,
  Checks: [{ ...ALIVE, Name: checkName }],
  Connect: null,
  Meta: null,
  CanaryMeta: null,
  Weights: null,
  TaggedAddresses: null,
  Namespace: 'default',
  OnUpdate: 'require_healthy',
  Provider: 'nomad',
  Cluster: '',
  Identity: null,
  Kind: '',
});
