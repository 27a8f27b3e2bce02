import type { Deployment } from '@waybill/model';
import { newUuid } from '@waybill/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type WrittenRollout, WrittenRollouts } from '../support/written-rollouts.js';

const uuid = (first: string) => `${first}${newUuid().slice(first.length)}`;

let cluster: WrittenRollouts;
/** In the order of their making, which is not the order of their ids. */
const made: WrittenRollout[] = [];
beforeAll(async () => {
  cluster = await WrittenRollouts.start();
  for (const [job, start] of [
    ['c', 'cc'],
    ['a', 'aa'],
    ['b', 'aabb'],
    ['d', 'bb'],
  ] as const)
    made.push(await cluster.rollout(job, uuid(start)));
});
afterAll(() => cluster?.stop());

const madeIds = () => made.map(({ id }) => id);

async function idsOf(path: string): Promise<string[]> {
  const { status, text } = await cluster.get(path);
  expect(status, text).toBe(200);
  return (JSON.parse(text) as Deployment[]).map(({ ID }) => ID);
}

describe('reading deployments', () => {
  it('DP-1208: in the order of their making, or backwards; none is an empty list; the index is the last that touched any', async () => {
    expect(await idsOf('/v1/deployments')).toEqual(madeIds());
    expect(await idsOf('/v1/deployments?reverse=true')).toEqual(madeIds().toReversed());
    expect((await cluster.get('/v1/deployments?namespace=elsewhere')).text).toBe('[]');
    const newest = await Promise.all(made.map((rollout) => rollout.read()));
    expect((await cluster.get('/v1/deployments')).index).toBe(Math.max(...newest.map((d) => d.ModifyIndex)));
  });

  it('DP-1209: by the start of the id, then in their order; half a byte is refused; in all namespaces too', async () => {
    const withAa = [made[1]!.id, made[2]!.id].toSorted();
    expect(await idsOf('/v1/deployments?prefix=aa')).toEqual(withAa);
    expect(await idsOf('/v1/deployments?prefix=aabb')).toEqual([made[2]!.id]);
    expect(await idsOf('/v1/deployments?prefix=aa&namespace=*')).toEqual(withAa);
    expect(await idsOf('/v1/deployments?prefix=ee')).toEqual([]);
    for (const length of [10, 14, 32]) {
      const digits = made[2]!.id.replaceAll('-', '').slice(0, length);
      expect(await idsOf(`/v1/deployments?prefix=${digits}`)).toEqual([made[2]!.id]);
    }
    expect(await idsOf(`/v1/deployments?prefix=${made[2]!.id.slice(0, 16)}`)).toEqual([made[2]!.id]);
    const odd = await cluster.get('/v1/deployments?prefix=aab');
    expect([odd.status, odd.text]).toEqual([400, expect.stringContaining('must be even length')]);
  });

  it('DP-1211, ST-157: page by page; the token names the first that is not there', async () => {
    const first = await cluster.get('/v1/deployments?per_page=3');
    const next = await made[3]!.read();
    expect(first.nextToken).toBe(`${next.CreateIndex}.${next.ID}`);
    const rest = await cluster.get(`/v1/deployments?per_page=3&next_token=${first.nextToken}`);
    expect((JSON.parse(rest.text) as Deployment[]).map(({ ID }) => ID)).toEqual([next.ID]);
    expect(rest.nextToken ?? '').toBe('');
    const byPrefix = await cluster.get('/v1/deployments?prefix=aa&per_page=1');
    expect(byPrefix.nextToken).toBe([made[1]!.id, made[2]!.id].toSorted()[1]);
    // The one that it names is gone: the next that exists begins the page.
    expect(await idsOf(`/v1/deployments?next_token=${next.CreateIndex - 1}.${next.ID}`)).toEqual([next.ID]);
  });

  it('DP-1212: by an expression over the fields, before the pages are cut', async () => {
    const filtered = (expression: string, more = '') =>
      `/v1/deployments?filter=${encodeURIComponent(expression)}${more}`;
    expect(await idsOf(filtered('JobID == "a" or JobID == "d"'))).toEqual([made[1]!.id, made[3]!.id]);
    expect(await idsOf(filtered('ID matches "^aa"'))).toEqual([made[1]!.id, made[2]!.id]);
    expect(await idsOf(filtered('JobID != "c"', '&per_page=2'))).toEqual([made[1]!.id, made[2]!.id]);
    expect(await idsOf(filtered('JobID != "a"', '&prefix=aa'))).toEqual([made[2]!.id]);
    for (const [expression, words] of [
      ['JobID ==', 'failed to read filter expression'],
      ['Nothing == "x"', 'error finding value in datum'],
    ] as const) {
      const { status, text } = await cluster.get(filtered(expression));
      expect([status, text]).toEqual([400, expect.stringContaining(words)]);
    }
  });

  it('API-33, API-41: one by its whole id; a query that waits for it is woken by it and by no other', async () => {
    const [c, a] = made;
    const known = await c!.read();
    expect(await cluster.get(`/v1/deployment/${c!.id}`)).toMatchObject({ status: 200, index: known.ModifyIndex });
    const missing = await cluster.get(`/v1/deployment/${uuid('ff')}`);
    expect([missing.status, missing.text]).toEqual([404, 'deployment not found']);
    expect(missing.index).toBe((await cluster.get('/v1/deployments')).index);
    expect((await cluster.get(`/v1/deployment/${c!.id.slice(0, 8)}`)).status).toBe(400);

    const waiting = cluster.get(`/v1/deployment/${c!.id}?index=${known.ModifyIndex}&wait=30s`);
    await cluster.put(`/v1/deployment/pause/${a!.id}`, { DeploymentID: a!.id, Pause: true });
    const paused = await cluster.put(`/v1/deployment/pause/${c!.id}`, { DeploymentID: c!.id, Pause: true });
    const woken = await waiting;
    expect(JSON.parse(woken.text)).toMatchObject({ ID: c!.id, Status: 'paused' });
    expect(woken.index).toBe(paused.index);

    const toCome = uuid('dd');
    const appears = cluster.get(`/v1/deployment/${toCome}?index=${paused.index}&wait=30s`);
    made.push(await cluster.rollout('e', toCome));
    expect(JSON.parse((await appears).text)).toMatchObject({ ID: toCome });
  });

  it('its allocations; of an unknown one there are none', async () => {
    const [rollout] = made;
    const { status, text } = await cluster.get(`/v1/deployment/allocations/${rollout!.id}`);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject([{ ID: rollout!.canary.ID, JobID: 'c' }]);
    expect(await cluster.get(`/v1/deployment/allocations/${newUuid()}`)).toMatchObject({ status: 200, text: '[]' });
  });

  it('API-638, DP-1214, DP-1215: those of a job are of what it is now, or of all that had its name; the newest, or null', async () => {
    const [, , before] = made;
    expect(await idsOf('/v1/job/b/deployments')).toEqual([before!.id]);
    expect(JSON.parse((await cluster.get('/v1/job/b/deployment')).text)).toMatchObject({ ID: before!.id });
    expect((await cluster.get('/v1/job/none/deployments')).text).toBe('[]');
    expect(await cluster.get('/v1/job/none/deployment')).toMatchObject({ status: 200, text: 'null' });
    await cluster.api.stop('b', true);
    const after = await cluster.rollout('b', uuid('abba'));
    expect(await idsOf('/v1/job/b/deployments')).toEqual([after.id]);
    expect(JSON.parse((await cluster.get('/v1/job/b/deployment')).text)).toMatchObject({ ID: after.id });
  });

  it('DP-1203, DP-1803: a write on what is not there; after one that succeeds the next read has it', async () => {
    const gone = uuid('ee');
    const answer = await cluster.put(`/v1/deployment/promote/${gone}`, { DeploymentID: gone, All: true });
    expect([answer.status, answer.text]).toEqual([404, 'deployment not found']);
    const [, a] = made;
    for (const Pause of [true, false, true]) {
      const { index } = await cluster.put(`/v1/deployment/pause/${a!.id}`, { DeploymentID: a!.id, Pause });
      const read = await cluster.get(`/v1/deployment/${a!.id}`);
      expect(JSON.parse(read.text)).toMatchObject({ Status: Pause ? 'paused' : 'running', ModifyIndex: index });
      expect(read.index).toBeGreaterThanOrEqual(index);
    }
  });
});
