import type { Task, TaskArtifact } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { FileIsolation, TaskConfig, TaskMount, TaskPaths } from '../drivers/driver.js';
import { aCheck, aService } from '../fixtures/offered-service.js';
import { aTemplate } from '../fixtures/task-template.js';
import { interpolatedArtifact } from './hooks/artifact.hook.js';
import type { TaskHook, TaskStart } from './task-hook.js';
import { interpolatedTemplate } from './hooks/template.hook.js';
import { VolumesHook } from './hooks/volumes.hook.js';
import { withPort } from '../fixtures/running-allocation.js';
import { servicesOf, type WorkloadService } from '../services/workload-service.js';
import { TaskPreparation } from './task-preparation.js';

/**
 * The text contains a directory, an attribute, the machine's metadata, the task's own variable, and an unknown name.
 */
const ASKED = '${NOMAD_ALLOC_DIR}/${node.class}-${meta.rack}-${env["COLOUR"]}-${nobody}';
const KNOWN = 'edge-r1-blue-${nobody}';
const ON_MACHINE = `/m/alloc/${KNOWN}`;
const INSIDE = `/alloc/${KNOWN}`;
/** Services belong to the allocation and have no directories. */
const WITHOUT_DIRECTORIES = '${NOMAD_ALLOC_DIR}/edge-r1-blue-${nobody}';

const PATHS: TaskPaths = {
  allocDir: '/m/alloc',
  logsDir: '/m/alloc/logs',
  taskDir: '/m/web',
  localDir: '/m/web/local',
  secretsDir: '/m/web/secrets',
  privateDir: '/m/web/private',
};
const ARTIFACT: TaskArtifact = {
  GetterSource: ASKED,
  GetterOptions: { ref: ASKED },
  GetterHeaders: { 'X-Of': ASKED },
  GetterMode: 'any',
  GetterInsecure: false,
  RelativeDest: ASKED,
  Chown: false,
};
const TASK: Partial<Task> = {
  Name: 'web',
  Driver: 'exec',
  Config: { command: ASKED, args: [ASKED], nested: { deep: [ASKED] } },
  Env: { COLOUR: 'blue', OF: '${NOMAD_ALLOC_DIR}/${node.class}-${meta.rack}-${nobody}' },
  Meta: { of: '${NOMAD_ALLOC_DIR}/${node.class}-${meta.rack}-${nobody}' },
  Services: [
    aService({
      Name: ASKED,
      Tags: [ASKED],
      Address: ASKED,
      Checks: [aCheck({ Path: ASKED, Args: [ASKED], Header: { 'X-Of': [ASKED] }, Body: ASKED })],
    }),
  ],
  Templates: [aTemplate({ SourcePath: ASKED, DestPath: ASKED })],
  Artifacts: [ARTIFACT],
  VolumeMounts: [
    {
      Volume: '${env["COLOUR"]}',
      Destination: ASKED,
      ReadOnly: false,
      PropagationMode: '${meta.spread}',
      SELinuxLabel: '',
    },
  ],
};

interface Seen {
  readonly config: TaskConfig;
  readonly start: TaskStart;
  readonly mount: TaskMount;
  readonly service: WorkloadService;
}

/** Makes one task that uses the text in every place: for its driver, its hooks and the registry of services. */
async function seenBy(isolation: FileIsolation): Promise<Seen> {
  const node = fixtures.aNode({
    NodeClass: 'edge',
    Meta: { rack: 'r1', spread: 'host-to-task' },
    HostVolumes: { data: { Name: 'data', Path: '/mnt/data', ReadOnly: false, ID: '' } },
  });
  const task = fixtures.aTask(TASK);
  const volume = {
    Name: 'blue',
    Type: 'host',
    Source: 'data',
    ReadOnly: false,
    Sticky: false,
    AccessMode: '',
    AttachmentMode: '',
    MountOptions: null,
    PerAlloc: false,
  };
  const group = fixtures.aGroup({ Tasks: [task], Volumes: { blue: volume } }, 'service');
  const job = fixtures.aJob({ TaskGroups: [group] });
  const alloc = withPort(fixtures.anAlloc({ Job: job, JobID: job.ID, TaskGroup: group.Name }));
  let start: TaskStart | undefined;
  const watching: TaskHook = { name: 'watching', prestart: async (given) => void (start = given) };
  const volumes = new VolumesHook({ node: () => node, mountSupport: () => 'bind', mountOf: () => undefined });
  const directories = {
    build: () => Promise.resolve(PATHS),
    exists: () => Promise.resolve(true),
    list: () => Promise.resolve([]),
    inheritDisk: () => Promise.resolve(),
    remove: () => Promise.resolve(),
  };
  const place = { node: () => node, region: 'global', hostEnv: {} };
  const preparation = new TaskPreparation({ directories, taskHooks: [watching, volumes], ...place }, { isolation });
  const wanted = { alloc, job, task };
  const unwanted = () => Promise.reject(new Error('nothing is asked of the task'));
  const config = await preparation.prestart(await preparation.configure('t', wanted), wanted, {
    signal: new AbortController().signal,
    over: new AbortController().signal,
    emit: () => {},
    control: { restart: unwanted, signal: unwanted, kill: unwanted, runScript: unwanted },
  });
  const { services } = servicesOf({
    alloc,
    job,
    node,
    region: 'global',
    hostEnv: {},
    network: null,
    networkOf: () => null,
  });
  return { config, start: start!, mount: config.mounts![0]!, service: services[0]! };
}

const artifact = ({ start }: Seen) => interpolatedArtifact(start.task.Artifacts![0]!, start.interpolate);
const template = ({ start }: Seen) => interpolatedTemplate(start.task.Templates![0]!, start.interpolate);
const described = '/edge-r1-${nobody}';

/** Each entry is a place, how to read it, and the expected text on the machine and in a task with its own files. */
const PLACES: readonly (readonly [string, (seen: Seen) => unknown, string, string])[] = [
  ['a text of the configuration', ({ config }) => config.config['command'], ON_MACHINE, INSIDE],
  ['a list of the configuration', ({ config }) => (config.config['args'] as string[])[0], ON_MACHINE, INSIDE],
  ['a block of the configuration', ({ config }) => (config.config['nested'] as Deep).deep[0], ON_MACHINE, INSIDE],
  ['env', ({ config }) => config.env['OF'], `/m/alloc${described}`, `/alloc${described}`],
  ['meta', ({ config }) => config.env['NOMAD_META_of'], `/m/alloc${described}`, `/alloc${described}`],
  ['the source of a template', (seen) => template(seen).SourcePath, ON_MACHINE, ON_MACHINE],
  ['the destination of a template', (seen) => template(seen).DestPath, ON_MACHINE, ON_MACHINE],
  ['the source of an artifact', (seen) => artifact(seen).GetterSource, ON_MACHINE, ON_MACHINE],
  ['the options of an artifact', (seen) => artifact(seen).GetterOptions!['ref'], ON_MACHINE, ON_MACHINE],
  ['the headers of an artifact', (seen) => artifact(seen).GetterHeaders!['X-Of'], ON_MACHINE, ON_MACHINE],
  ['the destination of an artifact', (seen) => artifact(seen).RelativeDest, ON_MACHINE, ON_MACHINE],
  ['the destination of a volume', ({ mount }) => mount.destination, ON_MACHINE, INSIDE],
  ['the volume of a mount', ({ mount }) => mount.source, '/mnt/data', '/mnt/data'],
  ['the propagation of a mount', ({ mount }) => mount.propagation, 'host-to-task', 'host-to-task'],
  ['the name of a service', same((of) => of.registration.ServiceName), WITHOUT_DIRECTORIES, WITHOUT_DIRECTORIES],
  ['the tags of a service', same((of) => of.registration.Tags![0]), WITHOUT_DIRECTORIES, WITHOUT_DIRECTORIES],
  ['the address of a service', same((of) => of.registration.Address), WITHOUT_DIRECTORIES, WITHOUT_DIRECTORIES],
  ['the path of a check', same((of) => of.checks[0]!.spec.Path), WITHOUT_DIRECTORIES, WITHOUT_DIRECTORIES],
  ['the arguments of a check', same((of) => of.checks[0]!.spec.Args![0]), WITHOUT_DIRECTORIES, WITHOUT_DIRECTORIES],
  [
    'a header of a check',
    same((of) => of.checks[0]!.spec.Header!['X-Of']![0]),
    WITHOUT_DIRECTORIES,
    WITHOUT_DIRECTORIES,
  ],
  ['the body of a check', same((of) => of.checks[0]!.spec.Body), WITHOUT_DIRECTORIES, WITHOUT_DIRECTORIES],
];

interface Deep {
  readonly deep: readonly string[];
}

function same(read: (service: WorkloadService) => unknown): (seen: Seen) => unknown {
  return ({ service }) => read(service);
}

describe.each(['none', 'chroot', 'image'] as const)('with the file isolation "%s"', (isolation) => {
  it.each(PLACES)('AG-234: names are replaced in %s', async (_, read, onMachine, inside) => {
    expect(read(await seenBy(isolation))).toBe(isolation === 'none' ? onMachine : inside);
  });
});
