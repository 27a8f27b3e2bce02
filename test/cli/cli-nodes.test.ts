import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const OTHER = '0f9e8d7c-0000-4000-8000-000000000009';
const HOUR_NS = 3_600e9;
const DEADLINE = '2026-03-01T10:00:00Z';

let api: RecordedApi;
beforeEach(async () => {
  api = await RecordedApi.start();
  api.play('GET /v1/nodes', [{ ID: NODE, Name: 'n' }]);
  api.play(`GET /v1/node/${NODE}`, { ID: NODE, Name: 'n' });
  api.play(`GET /v1/node/${NODE}/allocations`, []);
  api.play(`PUT /v1/node/${NODE}/drain`, { NodeModifyIndex: 7 });
});
afterEach(() => api.stop());

const node = (...words: string[]) => api.run(['node', ...words]);
const sent = () => JSON.parse(api.seen.find(({ line }) => line.startsWith('PUT'))?.body ?? 'null') as unknown;
const lines = (text: string) => text.replaceAll('<ts>: ', '').trimEnd().split('\n');

describe('node drain', () => {
  const strategy = { Deadline: HOUR_NS, ForceDeadline: DEADLINE, IgnoreSystemJobs: false };
  const draining = { ID: NODE, Status: 'ready', DrainStrategy: strategy };

  it.each([
    [['-monitor', '-enable', NODE], "The -monitor flag cannot be used with the '-enable' or '-disable' flags"],
    [[NODE], "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'"],
    [['-enable', '-disable', NODE], "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'"],
    [['-enable'], "Node ID must be specified if -self isn't being used"],
    [['-enable', '-self', NODE], "Node ID must be specified if -self isn't being used"],
    [['-disable', '-force', NODE], "-disable can't be combined with flags configuring drain strategy"],
    [['-disable', '-ignore-system', NODE], "-disable can't be combined with flags configuring drain strategy"],
    [['-enable', '-deadline=1h', '-force', NODE], "-deadline can't be combined with -force or -no-deadline"],
    [['-enable', '-force', '-no-deadline', NODE], '-force and -no-deadline are mutually exclusive'],
  ])('CL-511: %j is refused with a word about the help, and nothing is asked', async (words, text) => {
    const { code, err } = await node('drain', ...words);
    expect([code, err]).toEqual([1, `${text}\nFor additional help try 'waybill node drain -help'\n`]);
    expect(api.seen).toEqual([]);
  });

  it.each([
    ['soon', 'Failed to parse deadline "soon": time: invalid duration "soon"'],
    ['0', 'A positive drain duration must be given'],
    ['-5m', 'A positive drain duration must be given'],
  ])('CL-511: the deadline %s is none', async (deadline, text) => {
    expect(await node('drain', '-enable', `-deadline=${deadline}`, NODE)).toMatchObject({ code: 1, err: `${text}\n` });
    expect(api.seen).toEqual([]);
  });

  it('CL-512: a node that was found by a prefix is asked about, one that was named or -yes is not', async () => {
    for (const change of ['enable', 'disable']) {
      const { code, out } = await api.runTyped('n\n', ['node', 'drain', `-${change}`, '-detach', '1f3a']);
      expect([code, out]).toEqual([
        0,
        `Are you sure you want to ${change} drain mode for node "${NODE}"? [y/N] Canceling drain toggle\n`,
      ]);
    }
    expect(sent()).toBeNull();
    expect((await node('drain', '-enable', '-detach', '-yes', '1f3a')).out).toBe(`Node "${NODE}" drain strategy set\n`);
    expect((await node('drain', '-disable', NODE)).out).toBe(`Node "${NODE}" drain strategy unset\n`);
  });

  it.each([
    [['-enable'], { DrainSpec: { Deadline: HOUR_NS, IgnoreSystemJobs: false }, MarkEligible: true, Meta: {} }],
    [['-enable', '-force', '-ignore-system'], { DrainSpec: { Deadline: -1e9, IgnoreSystemJobs: true } }],
    [['-enable', '-no-deadline', '-keep-ineligible'], { DrainSpec: { Deadline: 0 }, MarkEligible: false }],
    [['-enable', '-deadline=1.5h', '-m', 'a disk'], { DrainSpec: { Deadline: 5_400e9 }, Meta: { message: 'a disk' } }],
    [['-enable', '-m', 'x', '-meta', 'message=y', '-meta', 'k'], { Meta: { message: 'y', k: '' } }],
    [['-disable', '-m', 'over'], { DrainSpec: null, Meta: { ticket: '7', cancel_message: 'over' } }],
  ])('CL-513: %j sends %j', async (words, body) => {
    api.play(`GET /v1/node/${NODE}`, { ID: NODE, LastDrain: { Meta: { ticket: '7' } } });
    expect((await node('drain', '-detach', ...words, NODE)).code).toBe(0);
    expect(sent()).toMatchObject(body);
  });

  it('CL-513: what fails says at which step', async () => {
    api.play(`PUT /v1/node/${NODE}/drain`, [500, 'boom']);
    expect((await node('drain', '-disable', NODE)).err).toMatch(/^Error updating drain specification: .*boom/);
    api.play('GET /v1/nodes', [500, 'boom']);
    expect((await node('drain', '-disable', NODE)).err).toMatch(/^Error toggling drain mode: .*boom/);
  });

  it('CL-514, CL-515, CL-516: a drain is watched until it is over and nothing runs any more', async () => {
    const alloc = (ClientStatus: string, DesiredStatus = 'run', Migrate = false) => ({
      ID: ALLOC,
      ClientStatus,
      DesiredStatus,
      DesiredTransition: { Migrate },
    });
    const later = { ...strategy, IgnoreSystemJobs: true };
    api.play(
      `GET /v1/node/${NODE}`,
      { ID: NODE }, // before the drain
      draining,
      draining,
      { ...draining, DrainStrategy: later, Status: 'down' },
      { ...draining, DrainStrategy: later, Status: 'down' },
      { ...draining, DrainStrategy: { ...later, Deadline: 0, ForceDeadline: null } },
      { ID: NODE },
    );
    api.play(
      `GET /v1/node/${NODE}/allocations`,
      [alloc('running')],
      [alloc('running', 'run', true)],
      [alloc('running', 'stop', true)],
      [alloc('complete', 'stop', true)],
    );
    const { code, out, err } = await node('drain', '-enable', NODE);
    const said = lines(out);
    expect(said.slice(0, 2)).toEqual([
      'Ctrl-C to stop monitoring: will not cancel the node drain',
      `Node "${NODE}" drain strategy set`,
    ]);
    expect(said.filter((line) => line.startsWith('Alloc '))).toEqual([
      `Alloc "${ALLOC}" marked for migration`,
      `Alloc "${ALLOC}" draining`,
      `Alloc "${ALLOC}" status running -> complete`,
    ]);
    expect(said.filter((line) => /^(Node|Drain|All) /.test(line)).slice(1)).toEqual(
      expect.arrayContaining([
        `Node "${NODE}" drain updated: drain ignoring system jobs and deadline at <ts>`,
        `Node "${NODE}" drain updated: drain ignoring system jobs and deadline at none`,
        `Drain complete for node ${NODE}`,
        `All allocations on node "${NODE}" have stopped`,
      ]),
    );
    // Once for both readings that say so.
    expect(err.match(/" down\n/g)).toHaveLength(1);
    expect(code).toBe(0);
    const reads = api.seen.filter(({ line }) => line === `GET /v1/node/${NODE}`);
    expect(reads.at(-1)?.query.get('index')).toBe('10');
  });

  it('CL-514: -monitor watches what is going on, and says so when nothing is', async () => {
    const none = await node('drain', '-monitor', NODE);
    expect([none.code, none.out, none.err]).toEqual([0, '', 'No drain strategy set\n']);
    api.play(`GET /v1/node/${NODE}`, draining, draining, { ID: NODE });
    const said = lines((await node('drain', '-monitor', NODE)).out);
    expect(said[0]).toBe(`Monitoring node "${NODE}": Ctrl-C to detach monitoring`);
    expect(said.toSorted().at(1)).toBe(`Drain complete for node ${NODE}`);
    expect(api.seen.some(({ line }) => line.startsWith('PUT'))).toBe(false);
  });

  it('CL-165: Ctrl-C ends the watching only, and says how to go on', async () => {
    api.play(`GET /v1/node/${NODE}`, draining, draining, () => undefined);
    api.play(`GET /v1/node/${NODE}/allocations`, () => undefined);
    const { code, err } = await api.run(['node', 'drain', '-enable', NODE], {}, /drain strategy set/);
    expect([code, err]).toEqual([
      130,
      'To watch on: waybill node drain -monitor 1f3a9c2e\nInterrupted: what was asked of the server goes on there\n',
    ]);
  });

  it('CL-515: system jobs that stay are neither counted nor shown', async () => {
    const ignoring = { ...draining, DrainStrategy: { ...strategy, IgnoreSystemJobs: true } };
    api.play(`GET /v1/node/${NODE}`, ignoring, ignoring, { ID: NODE });
    const system = (ClientStatus: string) => ({ ID: OTHER, ClientStatus, Job: { Type: 'system' } });
    api.play(
      `GET /v1/node/${NODE}/allocations`,
      [system('pending'), { ID: ALLOC, ClientStatus: 'running' }],
      [system('running'), { ID: ALLOC, ClientStatus: 'complete' }],
    );
    const { out } = await node('drain', '-enable', '-ignore-system', NODE);
    expect(out).not.toContain(OTHER);
    expect(out).toContain(`All allocations on node "${NODE}" have stopped`);
  });

  it('CL-516: a read that fails ends it with 1', async () => {
    api.play(`GET /v1/node/${NODE}`, draining, draining, [500, 'boom']);
    const failed = await node('drain', '-enable', NODE);
    expect([failed.code, failed.err]).toEqual([1, expect.stringMatching(/^Error monitoring node: .*boom/)]);
    api.play(`GET /v1/node/${NODE}`, draining);
    api.play(`GET /v1/node/${NODE}/allocations`, [500, 'boom']);
    expect((await node('drain', '-enable', NODE)).err).toMatch(/^Error monitoring allocations: .*boom/);
  });

  it('CL-1110: drained before the first look, or cancelled by somebody else: it ends, and says that it is over', async () => {
    const drained = lines((await node('drain', '-enable', NODE)).out);
    expect(drained.slice(2).toSorted()).toEqual([
      `All allocations on node "${NODE}" have stopped`,
      `Drain complete for node ${NODE}`,
    ]);
    // An allocation that ended between the write and the first look is no line of its own.
    api.play(`GET /v1/node/${NODE}`, draining, draining, { ID: NODE });
    api.play(`GET /v1/node/${NODE}/allocations`, [{ ID: ALLOC, ClientStatus: 'complete' }]);
    const cancelled = await node('drain', '-enable', NODE);
    expect([cancelled.code, cancelled.out.includes(ALLOC)]).toEqual([0, false]);
    expect(cancelled.out).toContain(`Drain complete for node ${NODE}`);
  });

  it.each([
    [undefined, 'false'],
    [{ Deadline: 0, IgnoreSystemJobs: false }, 'true; no deadline'],
    [{ Deadline: -1e9, IgnoreSystemJobs: true }, 'true; force drain; ignoring system jobs'],
    [strategy, 'true; <ts> deadline'],
    [{ ...strategy, IgnoreSystemJobs: true }, 'true; <ts> deadline; ignoring system jobs'],
  ])('CL-504: node status shows the strategy %j', async (DrainStrategy, text) => {
    api.play(`GET /v1/node/${NODE}`, { ID: NODE, ...(DrainStrategy && { DrainStrategy }) });
    expect((await node('status', '1f3a')).out).toContain(`Drain           = ${text}\n`);
  });
});

describe('node eligibility', () => {
  it('CL-521: says what it has set, and what it wants to know', async () => {
    api.play(`PUT /v1/node/${NODE}/eligibility`, { NodeModifyIndex: 8 });
    for (const [flag, Eligibility] of [
      ['-enable', 'eligible'],
      ['-disable', 'ineligible'],
    ] as const) {
      api.seen.length = 0;
      expect(await node('eligibility', flag, '1f3a')).toMatchObject({
        code: 0,
        out: `Node "${NODE}" scheduling eligibility set: ${Eligibility} for scheduling\n`,
      });
      expect(sent()).toMatchObject({ NodeID: NODE, Eligibility });
    }
    for (const words of [[NODE], ['-enable', '-disable', NODE]])
      expect((await node('eligibility', ...words)).err).toContain(
        "Either the '-enable' or '-disable' flag must be set\n",
      );
    api.play(`PUT /v1/node/${NODE}/eligibility`, [400, 'draining']);
    expect(await node('eligibility', '-enable', NODE)).toMatchObject({
      code: 1,
      err: 'Error updating scheduling eligibility: Unexpected response code: 400 (draining)\n',
    });
  });
});

describe('node meta', () => {
  const METADATA = '/v1/client/metadata';

  it('CL-523: apply sets, empties and takes away, of the node at the address or of another', async () => {
    api.play(`PUT ${METADATA}`, { Meta: {}, Dynamic: {}, Static: {} });
    expect(await node('meta', 'apply', '-unset', 'old,older', 'rack=7', 'note=a=b', 'empty')).toMatchObject({
      code: 0,
      out: '',
      err: '',
    });
    expect(sent()).toEqual({ Meta: { old: null, older: null, rack: '7', note: 'a=b', empty: '' } });
    expect(api.seen.at(-1)?.query.has('node_id')).toBe(false);
    await node('meta', 'apply', '-node-id=1f3a', 'rack=8');
    expect(api.seen.at(-1)?.query.get('node_id')).toBe(NODE);

    const nothing = await node('meta', 'apply');
    expect([nothing.code, nothing.err.split('\n')[0]]).toEqual([1, 'Must specify -unset or at least 1 key=value pair']);
    expect((await node('meta', 'apply', '-node-id=1', 'a=b')).err).toBe(
      'Node ID must contain at least two characters.\n',
    );
  });

  it('CL-523: read shows all of it, and where it comes from', async () => {
    const meta = { Meta: { b: '2', a: '1' }, Dynamic: { b: '2', gone: null }, Static: { a: '1', gone: 'x' } };
    api.play(`GET ${METADATA}`, meta);
    const { out } = await node('meta', 'read', '-node-id', '1f3a');
    expect(out).toBe(
      '\nAll Meta\na = 1\nb = 2\n\nDynamic Meta\nb    = 2\ngone = <unset>\n\nStatic Meta\na    = 1\ngone = x\n',
    );
    expect(JSON.parse((await node('meta', 'read', '-json')).out)).toEqual(meta);
    api.play(`GET ${METADATA}`, [400, 'No local Node and node_id not provided']);
    expect((await node('meta', 'read')).err).toContain('No local Node and node_id not provided');
  });
});

describe('node pools', () => {
  const pool = { Name: 'gpu', Description: 'with cards', Meta: { owner: 'sre' }, NodeIdentityTTL: HOUR_NS };

  it('CL-531: list, info, nodes and jobs', async () => {
    api.play('GET /v1/node/pools', [{ Name: 'gpu', Description: 'with cards' }]);
    expect((await node('pool', 'list')).out).toBe('Name  Description\ngpu   with cards\n');
    const SchedulerConfiguration = { SchedulerAlgorithm: 'spread', MemoryOversubscriptionEnabled: true };
    api.play('GET /v1/node/pool/gpu', { ...pool, SchedulerConfiguration }, { Name: 'gpu', Description: '' });
    expect((await node('pool', 'info', 'gp')).out).toBe(
      'Name              = gpu\nDescription       = with cards\nNode Identity TTL = 1h0m0s\n\nMetadata\nowner = sre\n\n' +
        'Scheduler Configuration\nScheduler Algorithm             = spread\nMemory Oversubscription Enabled = true\n',
    );
    const bare = (await node('pool', 'info', 'gpu')).out;
    expect(bare).toContain('Metadata\nNo metadata\n\nScheduler Configuration\nNo scheduler configuration\n');
    api.play('GET /v1/node/pool/gpu/nodes', [
      { ID: NODE, Datacenter: 'dc1', Name: 'n', Drain: false, SchedulingEligibility: 'eligible', Status: 'ready' },
    ]);
    expect((await node('pool', 'nodes', 'gpu')).out).toBe(
      'ID        DC   Name  Class   Drain  Eligibility  Status\n1f3a9c2e  dc1  n     <none>  false  eligible     ready\n',
    );
    api.play('GET /v1/node/pool/gpu/jobs', [{ ID: 'web', Type: 'service', Priority: 50, Status: 'running' }]);
    expect((await node('pool', 'jobs', '-filter', 'Status == "running"', 'gpu')).out).toMatch(
      /^ID +Type +Priority +Status +Submit Date\nweb +service +50 +running/,
    );
    expect(api.seen.at(-1)?.query.get('filter')).toBe('Status == "running"');
  });

  it('CL-531, CL-157: nothing there, or no such pool', async () => {
    api.play('GET /v1/node/pools', [{ Name: 'gpu', Description: '' }]);
    api.play('GET /v1/node/pool/gpu/nodes', []);
    api.play('GET /v1/node/pool/gpu/jobs', []);
    expect((await node('pool', 'nodes', 'gpu')).out).toBe('No nodes\n');
    expect((await node('pool', 'jobs', 'gpu')).out).toBe('No jobs\n');
    api.play('GET /v1/node/pools', []);
    expect((await node('pool', 'info', 'x')).err).toBe('No node pool with prefix "x" found\n');
  });
});
