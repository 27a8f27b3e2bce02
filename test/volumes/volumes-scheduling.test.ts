import { CLAIM_STATE, type ClaimState } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';
import { WrittenCluster } from '../support/written-cluster.js';

interface AllocStub {
  readonly ID: string;
  readonly Name: string;
  readonly NodeID: string;
}
interface EvalStub {
  readonly ID: string;
  readonly Status: string;
  readonly MissingNonNodeResources: string[] | null;
}

const NODE = fixtures.uuid(0xaa);

let cluster: WrittenCluster;
beforeAll(async () => {
  cluster = await WrittenCluster.start(['projector', 'broker', 'scheduler', 'api']);
  const Node = fixtures.aNode({ ID: NODE, CSINodePlugins: { disks: fixtures.aNodePlugin() } });
  await cluster.write('NodeRegister', { Node, CreateNodePool: false });
});
afterAll(() => cluster?.stop());

const jobOf = (ID: string, Count: number, volume: object) => ({
  ID,
  Datacenters: ['*'],
  TaskGroups: [
    {
      Name: 'web',
      Count,
      Volumes: {
        data: { Type: 'csi', AccessMode: 'single-node-writer', AttachmentMode: 'file-system', ...volume },
      },
      Tasks: [{ Name: 'web', Driver: 'raw_exec', Config: { command: '/bin/true' } }],
    },
  ],
});
const register = (ID: string) =>
  cluster.write('CSIVolumeRegister', { Volumes: [fixtures.aVolumeRegistration({ ID, ExternalID: ID })] });
const claim = (VolumeID: string, alloc: AllocStub, State: ClaimState) =>
  cluster.write('CSIVolumeClaim', {
    VolumeID,
    Claim: fixtures.aCSIClaim({ AllocationID: alloc.ID, NodeID: alloc.NodeID, State }),
  });
const allocsOf = (job: string) => cluster.api.get<AllocStub[]>(`/v1/job/${job}/allocations`);
const placed = (job: string, ...names: string[]) =>
  eventually(`${names.join(', ')} are placed`, async () => {
    const allocs = await allocsOf(job);
    const found = allocs.map(({ Name }) => Name).toSorted();
    return JSON.stringify(found) === JSON.stringify(names) && allocs;
  });
/** The blocked evaluation of a job, once it waits for just this. */
const waitsFor = (job: string, ...volumes: string[]) =>
  eventually(`it waits for ${volumes.join(', ')}`, async () => {
    const evals = await cluster.api.get<EvalStub[]>(`/v1/job/${job}/evaluations`);
    const blocked = evals.find(({ Status }) => Status === 'blocked');
    if (!blocked) return false;
    const { MissingNonNodeResources } = await cluster.api.get<EvalStub>(`/v1/evaluation/${blocked.ID}`);
    return JSON.stringify(MissingNonNodeResources) === JSON.stringify(volumes);
  });

it('VL-25, VL-161, VL-181: allocations wait for the volumes that are missing, each for its own', async () => {
  await cluster.api.register(jobOf('each', 2, { Source: 'data', PerAlloc: true }));
  await waitsFor('each', 'csi-volume:default:data[0]', 'csi-volume:default:data[1]');
  await register('data[1]');
  await placed('each', 'each.web[1]');
  await register('data[0]');
  await placed('each', 'each.web[0]', 'each.web[1]');
});

it('VL-169: a job that finds a volume claimed is placed when the claim is freed', async () => {
  await register('shared');
  await cluster.api.register(jobOf('first', 1, { Source: 'shared' }));
  const [holder] = await placed('first', 'first.web[0]');
  if (!holder) throw new Error('it was placed');
  await claim('shared', holder, CLAIM_STATE.taken);
  await cluster.api.register(jobOf('second', 1, { Source: 'shared' }));
  await waitsFor('second', 'csi-volume:default:shared');
  await claim('shared', holder, CLAIM_STATE.unpublishing);
  expect(await allocsOf('second')).toEqual([]);
  await claim('shared', holder, CLAIM_STATE.readyToFree);
  await placed('second', 'second.web[0]');
});
