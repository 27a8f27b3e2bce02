import { AUTH_REQUESTS, SYSTEM_SUBJECT, TXN_DOMAINS, TXN_STREAM } from '@waybill/journal';
import {
  ack,
  type Call,
  createEval,
  createHostVolume,
  createOnNode,
  createSnapshots,
  createVolumes,
  CSI_CONTROLLER,
  CSI_NODE,
  deleteHostVolume,
  deleteHostVolumeClaim,
  deleteOnNode,
  deleteSnapshot,
  deleteVolumes,
  dequeue,
  deregisterVolumes,
  detachVolume,
  evaluateNode,
  execEnd,
  execRead,
  execWrite,
  failDeployment,
  finish,
  forceGc,
  forcePeriodic,
  listExternalVolumes,
  listFiles,
  listSnapshots,
  livenessCallName,
  nack,
  type NatsUser,
  pauseDeployment,
  planJob,
  promoteDeployment,
  purgeNode,
  queuedPlacements,
  reached,
  readFile,
  readMachineMetrics,
  reap,
  recordRoleEvents,
  reblockEval,
  registerHostVolume,
  registerNode,
  registerOnNode,
  registerVolumes,
  renewLock,
  setDeploymentAllocHealth,
  submitPlan,
  subjectOfCall,
  taskAnswerPiece,
  unblockDeployment,
  updateEval,
  updateNodeDrain,
  updateNodeEligibility,
  USER_CALLS_OF_AGENTS,
} from '@waybill/rpc';
import type { Role } from '@waybill/state';

/** The services that can have a key of their own. */
export const KEYED_SERVICES = ['api', 'broker', 'deployments', 'nodes', 'projector', 'scheduler', 'volumes'] as const;
export type KeyedService = (typeof KEYED_SERVICES)[number];

type CalledName = Pick<Call<unknown, unknown>, 'name'>;

/** What one service does at NATS besides what all do. */
interface ServiceRights {
  /** The role that it can hold. */
  readonly role?: Role;
  /** Whether it writes transactions besides the leases of its role. */
  readonly writesLog: boolean;
  /** The calls that it makes to other services. */
  readonly calls: readonly CalledName[];
  /** The calls that it makes to machines. */
  readonly machineCalls: readonly CalledName[];
  /** Further subjects on which it publishes. */
  readonly publishes?: readonly string[];
  /** Further subjects to which it subscribes. */
  readonly subscribes?: readonly string[];
}

/** Longer than the slowest call to a service. */
const ANSWER_WITHIN = '15m';

const js = (request: string): string => `$JS.API.${request}`;
/** Requests that read a stream by sequence or subject. */
const readsMessages = (stream: string): readonly string[] => [
  js(`STREAM.MSG.GET.${stream}`),
  js(`DIRECT.GET.${stream}`),
  js(`DIRECT.GET.${stream}.>`),
];
/** Requests that follow a stream by a consumer. */
const followsStream = (stream: string): readonly string[] => [
  js(`CONSUMER.CREATE.${stream}`),
  js(`CONSUMER.CREATE.${stream}.>`),
  js(`CONSUMER.INFO.${stream}.*`),
  js(`CONSUMER.MSG.NEXT.${stream}.*`),
  js(`CONSUMER.DELETE.${stream}.*`),
  `$JS.ACK.${stream}.>`,
];
const CHANGES_STREAMS = [js('STREAM.CREATE.*'), js('STREAM.UPDATE.*'), js('STREAM.PURGE.*')];

/** What every service does: it reads the log and archives, and answers who asks for its figures. */
const COMMON_PUBLISHES: readonly string[] = [
  js('INFO'),
  js('STREAM.INFO.*'),
  js('STREAM.NAMES'),
  ...readsMessages(TXN_STREAM),
  ...followsStream(TXN_STREAM),
  ...readsMessages('ARCHIVES'),
  '$JS.FC.>',
];
const COMMON_SUBSCRIBES: readonly string[] = ['waybill.figures', 'waybill.projected'];

const RIGHTS: Readonly<Record<KeyedService, ServiceRights>> = {
  api: {
    writesLog: true,
    calls: [
      forceGc,
      forcePeriodic,
      renewLock,
      reached,
      pauseDeployment,
      promoteDeployment,
      failDeployment,
      unblockDeployment,
      setDeploymentAllocHealth,
      purgeNode,
      evaluateNode,
      updateNodeDrain,
      updateNodeEligibility,
      planJob,
      queuedPlacements,
      registerVolumes,
      createVolumes,
      deregisterVolumes,
      deleteVolumes,
      detachVolume,
      createSnapshots,
      deleteSnapshot,
      listSnapshots,
      listExternalVolumes,
      createHostVolume,
      registerHostVolume,
      deleteHostVolume,
      deleteHostVolumeClaim,
    ],
    machineCalls: [...USER_CALLS_OF_AGENTS.values(), execRead, execWrite, execEnd, taskAnswerPiece, readMachineMetrics],
    publishes: [
      SYSTEM_SUBJECT, // restores
      'LOGINS.*',
      'USED_LOGINS.*',
      'AUDIT.>',
      'ARCHIVES.>',
      'waybill.figures',
      'waybill.api.members',
      'waybill.scheduler.pools',
      ...['LOGINS', 'USED_LOGINS', 'AUDIT', 'EVENTS'].flatMap(readsMessages),
      js('STREAM.MSG.DELETE.LOGINS'),
      js('STREAM.CREATE.AUDIT'),
      js('STREAM.UPDATE.AUDIT'),
    ],
    subscribes: ['waybill.api.members', 'region.*.api.*'],
  },
  broker: { role: 'broker', writesLog: true, calls: [], machineCalls: [] },
  deployments: {
    role: 'deployments',
    writesLog: true,
    calls: [],
    machineCalls: [],
    subscribes: ['region.*.deployments.*'],
  },
  nodes: {
    role: 'nodes',
    writesLog: true,
    calls: [],
    machineCalls: [listFiles, readFile],
    publishes: ['waybill.nodes.signs', 'waybill.nodes.changes'],
    subscribes: ['waybill.nodes.signs', `${subjectOfCall(registerNode.name)}.*`, AUTH_REQUESTS],
  },
  projector: {
    role: 'projector',
    writesLog: false,
    calls: [],
    machineCalls: [],
    publishes: [
      SYSTEM_SUBJECT, // the first transaction of a log
      'EVENTS.>',
      'ARCHIVES.>',
      'waybill.projected',
      ...readsMessages('EVENTS'),
      js('STREAM.MSG.DELETE.EVENTS'),
      ...CHANGES_STREAMS,
    ],
  },
  // Workers ask the broker, and never write to the log.
  scheduler: {
    writesLog: false,
    calls: [dequeue, ack, nack, finish, updateEval, createEval, reblockEval, submitPlan, reap],
    machineCalls: [],
    subscribes: ['waybill.scheduler.pools'],
  },
  volumes: {
    role: 'volumes',
    writesLog: true,
    calls: [],
    machineCalls: [
      ...[...Object.values(CSI_CONTROLLER), ...Object.values(CSI_NODE)].map(({ call }): CalledName => call),
      createOnNode,
      registerOnNode,
      deleteOnNode,
    ],
  },
};

/** The calls of every service that can hold a role: its audit records go to an API. */
const CALLS_OF_ROLES: readonly CalledName[] = [recordRoleEvents];

/** The subjects of calls, and of the checks whether one is still in progress. */
const subjectsOf = (calls: readonly CalledName[]): readonly string[] =>
  calls.flatMap(({ name }) => [name, livenessCallName(name)]).map((name) => subjectOfCall(name));
const subjectsAtMachines = (calls: readonly CalledName[]): readonly string[] =>
  subjectsOf(calls).map((subject) => `${subject}.*`);

const leasesOf = (role: Role): readonly string[] => [
  `${TXN_STREAM}.lease.${role}`,
  `$KV.LEASES.${role}`,
  ...readsMessages('KV_LEASES'),
  ...followsStream('KV_LEASES'),
];

/**
 * The NATS user of one kind of service (AU-252, EB-10). It makes only the calls of its service, answers only the calls
 * to its service, and publishes only what its service writes: a scheduler publishes no transaction, and no service can
 * take the lease of another's role. Only the projector creates, changes and trims streams, so the other services wait for
 * it at a new NATS server. The key does not stop an attacker: JetStream sends its answer to any subject of the account
 * that a request names, so who may ask for the log can have the server write an answer into it.
 */
export function keyedServiceUser(service: KeyedService, publicKey: string): NatsUser {
  const { role, writesLog, calls, machineCalls, publishes = [], subscribes = [] } = RIGHTS[service];
  return {
    nkey: publicKey,
    permissions: {
      publish: {
        allow: [
          ...COMMON_PUBLISHES,
          ...(writesLog
            ? TXN_DOMAINS.flatMap((domain) => [`${TXN_STREAM}.${domain}`, `${TXN_STREAM}.${domain}.>`])
            : []),
          ...(role === undefined ? [] : leasesOf(role)),
          ...subjectsOf(role === undefined ? calls : [...calls, ...CALLS_OF_ROLES]),
          ...subjectsAtMachines(machineCalls),
          ...publishes,
        ],
      },
      subscribe: { allow: [`_INBOX.${publicKey}.>`, `rpc.${service}.*`, ...COMMON_SUBSCRIBES, ...subscribes] },
      allow_responses: { max: -1, expires: ANSWER_WITHIN },
    },
  };
}
