import { CLAIM_STATE } from '@waybill/model';
import type { Applied } from '@waybill/state';
import { startTracing } from '@waybill/telemetry';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import { QUIESCENT_MS } from './volume-worker.js';
import { VolumesCluster } from './volumes-cluster.fixture.js';

/** Long enough for every pass and retry that is due. */
const SOON_MS = 20_000;

/** Volume `data` of a plugin with a controller; `a` on machine `m` has ended, and its claim is still there. */
function ended(): VolumesCluster {
  const cluster = new VolumesCluster();
  cluster.machine('m');
  cluster.machine('c', { controller: true });
  cluster.volume({ ControllerRequired: true });
  cluster.claimed('a', 'm', { externalId: 'external-m' });
  cluster.status('a', 'complete');
  return cluster;
}

/** How often the log let go of the claim. */
function countingFreed(cluster: VolumesCluster): () => number {
  let freed = 0;
  cluster.state.onApplied(({ changes }: Applied) => {
    for (const change of changes)
      if (change.table === 'csi_volumes' && change.before?.WriteClaims['a'] && !change.after?.WriteClaims['a']) freed++;
  });
  return () => freed;
}

const replaced = (cluster: VolumesCluster): void => {
  cluster.follow();
  cluster.lead();
};

describe('a change of the holder in the middle of a release', () => {
  it.each(['NodeDetachVolume', 'ControllerDetachVolume'])(
    'VL-131, VL-301, VL-302: while %s is under way: one call more at most, freed once',
    async (name) => {
      const cluster = ended();
      const freed = countingFreed(cluster);
      let changes = 1;
      cluster.machines.answers.set(`agent.csi${name}`, async () => {
        await Promise.resolve();
        if (changes-- > 0) replaced(cluster);
        return null;
      });
      cluster.lead();
      await cluster.time.pass(SOON_MS);
      expect(cluster.machines.calls.filter((call) => call === name)).toHaveLength(2);
      expect(freed()).toBe(1);
      expect(cluster.stored()).toMatchObject({ WriteClaims: {}, PastClaims: {}, AccessMode: '' });
    },
  );

  it.each([
    { write: 1, step: 'unpublishing' },
    { write: 2, step: 'node-detached' },
    { write: 3, step: 'freed' },
  ])('VL-106, VL-303: after the step $step is written: the next goes on from there', async ({ write }) => {
    const cluster = ended();
    const freed = countingFreed(cluster);
    let seen = 0;
    cluster.state.onApplied(({ changes }) => {
      if (changes.some(({ table }) => table === 'csi_volumes') && ++seen === write)
        queueMicrotask(() => replaced(cluster));
    });
    cluster.lead();
    await cluster.time.pass(SOON_MS);
    expect(seen).toBeGreaterThanOrEqual(3);
    expect(freed()).toBe(1);
    expect(cluster.stored()).toMatchObject({ WriteClaims: {}, PastClaims: {} });
    expect(cluster.machines.calls.filter((call) => call === 'ControllerDetachVolume').length).toBeLessThanOrEqual(2);
  });

  it('VL-303: what a deposed holder still has under way writes nothing', async () => {
    const cluster = ended();
    let answer: (value: unknown) => void = () => undefined;
    cluster.machines.answers.set('agent.csiNodeDetachVolume', () => new Promise((resolve) => (answer = resolve)));
    cluster.lead();
    await cluster.time.pass(10);
    cluster.follow();
    const before = cluster.state.appliedIndex;
    answer(null);
    await cluster.time.pass(SOON_MS);
    expect(cluster.state.appliedIndex).toBe(before);
    expect(cluster.stored().PastClaims['a']).toMatchObject({ State: CLAIM_STATE.unpublishing });
  });
});

describe('a volume that goes away', () => {
  it('VL-142: deregistered by force while its plugin is asked: the worker ends, and nothing comes back', async () => {
    const cluster = ended();
    cluster.machines.answers.set('agent.csiControllerDetachVolume', () => {
      cluster.write('CSIVolumeDeregister', { VolumeIDs: ['data'], Force: true });
      return null;
    });
    cluster.lead();
    await cluster.time.pass(SOON_MS);
    expect(cluster.holder.stats()).toMatchObject({ workers: 0, failures: 1 });
    expect(cluster.state.tables.csi_volumes.size).toBe(0);
    await cluster.time.pass(QUIESCENT_MS);
    expect(cluster.time.pending).toBe(0);
  });
});

describe('the trace of a release', () => {
  it('VL-149: worker, pass, workflow and each call, with volume, namespace, allocation and node', async () => {
    const exporter = new InMemorySpanExporter();
    const tracing = await startTracing({ service: 'test', processor: new SimpleSpanProcessor(exporter) });
    try {
      const cluster = ended();
      cluster.lead();
      await cluster.time.pass(SOON_MS);
      await cluster.time.pass(QUIESCENT_MS);
      const spans = exporter.getFinishedSpans();
      const of = (name: string) => spans.find((span) => span.name === name);
      expect(spans.map(({ name }) => name)).toEqual(
        expect.arrayContaining([
          'volume worker',
          'volume release',
          'volume unpublish',
          'agent.csiNodeDetachVolume',
          'agent.csiControllerDetachVolume',
        ]),
      );
      expect(of('volume unpublish')?.attributes).toMatchObject({
        'waybill.volume': 'data',
        'waybill.namespace': 'default',
        'waybill.alloc': 'a',
        'waybill.node': 'm',
      });
      expect(of('volume unpublish')?.events.map(({ name }) => name)).toEqual([
        'detached from node',
        'detached from controller',
        'claim released',
      ]);
      const parents = ['agent.csiNodeDetachVolume', 'volume unpublish', 'volume release', 'volume worker'];
      for (const [i, name] of parents.slice(0, -1).entries())
        expect(of(name)?.parentSpanContext?.spanId).toBe(of(parents[i + 1] ?? '')?.spanContext().spanId);
    } finally {
      await tracing.stop();
    }
  });

  it('VL-149: a step that is skipped says why', async () => {
    const exporter = new InMemorySpanExporter();
    const tracing = await startTracing({ service: 'test', processor: new SimpleSpanProcessor(exporter) });
    try {
      const cluster = ended();
      cluster.write('NodeUpdateStatus', {
        NodeID: 'm',
        Status: 'down',
        UpdatedAt: 0,
        NodeEvent: null,
        IdentitySigningKeyID: '',
      });
      cluster.lead();
      await cluster.time.pass(SOON_MS);
      const [unpublish] = exporter.getFinishedSpans().filter(({ name }) => name === 'volume unpublish');
      expect(unpublish?.events[0]).toMatchObject({
        name: 'node step skipped',
        attributes: { reason: 'the node is down' },
      });
    } finally {
      await tracing.stop();
    }
  });
});
