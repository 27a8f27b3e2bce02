import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CallOptions } from './plugin-connection.js';
import { Refusal, type Scripted, ScriptedPlugin } from './fixtures/scripted-plugin.js';
import { PluginClient } from './plugin-client.js';

let plugin: ScriptedPlugin;
let client: PluginClient;

beforeEach(async () => {
  plugin = new ScriptedPlugin();
  await plugin.listen();
  client = new PluginClient(plugin.socketPath);
});
afterEach(() => {
  client.close();
  plugin.close();
});

const refusing =
  (code: status, details?: string): Scripted =>
  () =>
    new Refusal(code, details);
const USE = {
  attachmentMode: 'file-system',
  accessMode: 'single-node-writer',
  fsType: 'ext4',
  mountFlags: ['noatime'],
};
const CAPABILITY = {
  mount: { fs_type: 'ext4', mount_flags: ['noatime'] },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};
const MOUNTED = { volumeId: 'v', use: USE, publishContext: { p: '1' }, volumeContext: { c: '2' }, secrets: { k: 's' } };
const WIRE_MOUNTED = {
  volume_id: 'v',
  volume_capability: CAPABILITY,
  publish_context: { p: '1' },
  volume_context: { c: '2' },
  secrets: { k: 's' },
};

/** Each method once: how it is called, what the plugin sees. */
const METHODS: [string, (c: PluginClient, options: CallOptions) => Promise<unknown>, object][] = [
  ['Probe', (c, o) => c.identity.probe(o), {}],
  ['GetPluginInfo', (c, o) => c.identity.info(o), {}],
  ['GetPluginCapabilities', (c, o) => c.identity.capabilities(o), {}],
  ['NodeGetCapabilities', (c, o) => c.node.capabilities(o), {}],
  ['NodeGetInfo', (c, o) => c.node.info(o), {}],
  [
    'NodeStageVolume',
    (c, o) => c.node.stage({ ...MOUNTED, stagingPath: '/s' }, o),
    { ...WIRE_MOUNTED, staging_target_path: '/s' },
  ],
  [
    'NodePublishVolume',
    (c, o) => c.node.publish({ ...MOUNTED, stagingPath: '/s', targetPath: '/t', readonly: true }, o),
    { ...WIRE_MOUNTED, staging_target_path: '/s', target_path: '/t', readonly: true },
  ],
  ['NodeUnpublishVolume', (c, o) => c.node.unpublish('v', '/t', o), { volume_id: 'v', target_path: '/t' }],
  ['NodeUnstageVolume', (c, o) => c.node.unstage('v', '/s', o), { volume_id: 'v', staging_target_path: '/s' }],
  [
    'NodeExpandVolume',
    (c, o) =>
      c.node.expand(
        { volumeId: 'v', volumePath: '/t', stagingPath: '/s', use: USE, capacity: { requiredBytes: 5n } },
        o,
      ),
    { volume_id: 'v', volume_path: '/t', staging_target_path: '/s', capacity_range: { required_bytes: '5' } },
  ],
  ['ControllerGetCapabilities', (c, o) => c.controller.capabilities(o), {}],
  [
    'CreateVolume',
    (c, o) =>
      c.controller.createVolume(
        {
          name: 'db',
          capacity: { requiredBytes: 1n, limitBytes: 2n },
          uses: [USE],
          parameters: { tier: 'fast' },
          secrets: { k: 's' },
          snapshotId: 'p',
          topologies: { required: [{ zone: 'z1' }], preferred: [] },
        },
        o,
      ),
    {
      name: 'db',
      capacity_range: { required_bytes: '1', limit_bytes: '2' },
      volume_capabilities: [CAPABILITY],
      parameters: { tier: 'fast' },
      secrets: { k: 's' },
      volume_content_source: { snapshot: { snapshot_id: 'p' } },
      accessibility_requirements: { requisite: [{ segments: { zone: 'z1' } }], preferred: [] },
    },
  ],
  ['DeleteVolume', (c, o) => c.controller.deleteVolume('v', { k: 's' }, o), { volume_id: 'v', secrets: { k: 's' } }],
  [
    'ControllerPublishVolume',
    (c, o) => c.controller.attach({ ...MOUNTED, nodeId: 'n', readonly: false }, o),
    {
      volume_id: 'v',
      node_id: 'n',
      readonly: false,
      volume_capability: CAPABILITY,
      secrets: { k: 's' },
      volume_context: { c: '2' },
    },
  ],
  [
    'ControllerUnpublishVolume',
    (c, o) => c.controller.detach({ volumeId: 'v', nodeId: 'n', secrets: { k: 's' } }, o),
    { volume_id: 'v', node_id: 'n', secrets: { k: 's' } },
  ],
  [
    'ValidateVolumeCapabilities',
    (c, o) => c.controller.validate({ volumeId: 'v', uses: [USE], volumeContext: { c: '2' }, secrets: { k: 's' } }, o),
    { volume_id: 'v', volume_capabilities: [CAPABILITY], volume_context: { c: '2' }, secrets: { k: 's' } },
  ],
  [
    'ListVolumes',
    (c, o) => c.controller.listVolumes({ maxEntries: 3, startingToken: 'x' }, o),
    { max_entries: 3, starting_token: 'x' },
  ],
  [
    'ControllerExpandVolume',
    (c, o) => c.controller.expand({ volumeId: 'v', capacity: { requiredBytes: 7n }, use: USE, secrets: { k: 's' } }, o),
    { volume_id: 'v', capacity_range: { required_bytes: '7' }, volume_capability: CAPABILITY, secrets: { k: 's' } },
  ],
  [
    'CreateSnapshot',
    (c, o) => c.controller.createSnapshot({ sourceVolumeId: 'v', name: 'n', parameters: { a: 'b' } }, o),
    { source_volume_id: 'v', name: 'n', parameters: { a: 'b' } },
  ],
  [
    'DeleteSnapshot',
    (c, o) => c.controller.deleteSnapshot('p', { k: 's' }, o),
    { snapshot_id: 'p', secrets: { k: 's' } },
  ],
  [
    'ListSnapshots',
    (c, o) => c.controller.listSnapshots({ startingToken: 'x', secrets: { k: 's' } }, o),
    { starting_token: 'x', secrets: { k: 's' } },
  ],
];
/** Asked again by the next look, not at once (VL-250). */
const NOT_REPEATED = new Set(METHODS.map(([name]) => name).filter((name) => /^(Probe|.*Get.*)$/.test(name)));

describe('each method', () => {
  it.each(METHODS)('CW-27: %s reaches the plugin with every field in its place', async (method, call, seen) => {
    await call(client, {}).catch(() => undefined); // an empty answer is not enough for some
    expect(plugin.calls).toMatchObject([{ method, request: seen }]);
  });

  it.each(METHODS)('VL-250: %s, asked of a plugin that is unavailable', async (method, call) => {
    plugin.script = { [method]: refusing(status.UNAVAILABLE) };
    await expect(call(client, {})).rejects.toMatchObject({ code: status.UNAVAILABLE, method });
    expect(plugin.calls).toHaveLength(NOT_REPEATED.has(method) ? 1 : 3);
  });

  it.each(METHODS)('VL-253: %s, an internal error says whose', async (method, call) => {
    plugin.script = { [method]: refusing(status.INTERNAL, 'disk on fire') };
    const side = method.startsWith('Node') ? 'node' : 'controller';
    const where = `${side} plugin returned an internal error, check the plugin allocation logs for more information: `;
    const text = 'rpc error: code = Internal desc = disk on fire';
    const isIdentity = /^(Probe|GetPlugin.*)$/.test(method);
    await expect(call(client, {})).rejects.toThrow(new RegExp(`^${isIdentity ? '' : where}${text}$`));
    expect(plugin.calls).toHaveLength(1);
  });

  it.each([
    ['NodeUnpublishVolume', (): Promise<unknown> => client.node.unpublish('v', '/t')],
    ['NodeUnstageVolume', (): Promise<unknown> => client.node.unstage('v', '/s')],
    ['ControllerUnpublishVolume', (): Promise<unknown> => client.controller.detach({ volumeId: 'v', nodeId: 'n' })],
    ['NodeExpandVolume', (): Promise<unknown> => METHODS.find(([name]) => name === 'NodeExpandVolume')![1](client, {})],
  ])('VL-251, VL-120, CW-15: %s of what is not there is done', async (method, call) => {
    plugin.script = { [method]: refusing(status.NOT_FOUND) };
    await call();
    plugin.script = { [method]: refusing(status.FAILED_PRECONDITION) };
    await expect(call()).rejects.toMatchObject({ code: status.FAILED_PRECONDITION });
  });

  it.each([
    ['INTERNAL', 'volume not found', false],
    ['NOT_FOUND', 'internal: disk on fire', true],
    ['UNKNOWN', 'code = NotFound', false],
  ] as const)('CW-9: %s is decided by its code, whatever it says (%j)', async (code, text, isDone) => {
    plugin.script = { NodeUnpublishVolume: refusing(status[code], text) };
    const done = client.node.unpublish('v', '/t').then(
      () => true,
      (error: unknown) => {
        expect(String(error)).toContain(text);
        return false;
      },
    );
    expect(await done).toBe(isDone);
  });

  it('VL-252, VL-100: an attach that is refused for now says so', async () => {
    plugin.script = { ControllerPublishVolume: refusing(status.FAILED_PRECONDITION, 'on node x') };
    const attach = client.controller.attach({ ...MOUNTED, nodeId: 'n', readonly: false });
    await expect(attach).rejects.toThrow(
      'CSI client error (retryable): rpc error: code = FailedPrecondition desc = on node x',
    );
    await expect(attach).rejects.toMatchObject({ isRetryable: true });
  });

  it('VL-254: what a call cannot do without is asked for before the plugin is', async () => {
    const { node, controller } = client;
    const cases: [Promise<unknown>, string][] = [
      [controller.createVolume({ name: '', capacity: {}, uses: [USE] }), 'missing Name'],
      [node.unpublish('', '/t'), 'missing volume ID'],
      [node.unpublish('v', ''), 'missing target path'],
      [node.unstage('v', ''), 'missing staging target path'],
      [node.stage({ ...MOUNTED, stagingPath: '' }), 'missing staging target path'],
      [controller.detach({ volumeId: 'v', nodeId: '' }), 'missing node ID'],
      [controller.validate({ volumeId: 'v', uses: [] }), 'missing volume capability'],
      [controller.expand({ volumeId: 'v', capacity: {}, use: null }), 'missing capacity range'],
      [
        controller.expand({ volumeId: 'v', capacity: { requiredBytes: 2n, limitBytes: 1n }, use: null }),
        'must not be below',
      ],
    ];
    for (const [call, text] of cases) await expect(call).rejects.toThrow(text);
    expect(plugin.calls).toEqual([]);
  });

  it.each([
    [{ ...USE, accessMode: 'x' }, 'unknown volume access mode: x'],
    [{ ...USE, attachmentMode: 'y' }, 'unknown volume attachment mode: y'],
  ])('VL-240: %j', async (use, text) => {
    await expect(client.node.stage({ ...MOUNTED, use, stagingPath: '/s' })).rejects.toThrow(text);
  });

  it('VL-256, VL-213: an answer without what was asked for is an error', async () => {
    const { controller, node } = client;
    const create = { name: 'n', capacity: {}, uses: [USE] };
    await expect(controller.createVolume(create)).rejects.toThrow('plugin did not return error or volume');
    const snapshot = { sourceVolumeId: 'v', name: 'n' };
    await expect(controller.createSnapshot(snapshot)).rejects.toThrow('plugin did not return error or snapshot');
    await expect(node.info()).rejects.toThrow('plugin failed to return nodeid');
  });

  it('VL-201: a list with an entry of nothing is an error', async () => {
    plugin.script = { ListVolumes: () => ({ entries: [{}] }), ListSnapshots: () => ({ entries: [{}] }) };
    await expect(client.controller.listVolumes({})).rejects.toThrow('plugin returned an invalid entry');
    await expect(client.controller.listSnapshots({})).rejects.toThrow('plugin returned an invalid entry');
  });

  it('CW-13: a capacity without any bound is left out; one bound may stand alone', async () => {
    const create = { name: 'n', uses: [USE] };
    for (const capacity of [{}, { requiredBytes: 0n }, { limitBytes: 7n }])
      await client.controller.createVolume({ ...create, capacity }).catch(() => undefined);
    expect(plugin.calls.map(({ request }) => request['capacity_range'])).toEqual([
      null,
      null,
      { required_bytes: '0', limit_bytes: '7' },
    ]);
  });

  it('CW-20: what controller publish gave goes to stage and publish as it is', async () => {
    plugin.script = { ControllerPublishVolume: () => ({ publish_context: { dev: '/dev/x', '': 'odd' } }) };
    const publishContext = await client.controller.attach({ ...MOUNTED, nodeId: 'n', readonly: false });
    await client.node.stage({ ...MOUNTED, publishContext, stagingPath: '/s' });
    const publish = { ...MOUNTED, publishContext, stagingPath: '/s', targetPath: '/t', readonly: false };
    await client.node.publish(publish);
    const seen = plugin.calls.slice(1).map(({ request }) => request['publish_context']);
    expect(seen).toEqual([
      { dev: '/dev/x', '': 'odd' },
      { dev: '/dev/x', '': 'odd' },
    ]);
  });

  it('VL-214: ready unless it says that it is not', async () => {
    expect(await client.identity.probe()).toBe(true);
    plugin.script = { Probe: () => ({ ready: { value: false } }) };
    expect(await client.identity.probe()).toBe(false);
  });

  it('VL-216: a capability that nobody knows is ignored', async () => {
    plugin.script = {
      ControllerGetCapabilities: () => ({
        capabilities: [{ rpc: { type: 99 } }, {}, { rpc: { type: 'CLONE_VOLUME' } }],
      }),
    };
    expect(await client.controller.capabilities()).toEqual(new Set(['CLONE_VOLUME']));
  });

  it('CW-8: capacities beyond 2^53 arrive exact', async () => {
    plugin.script = { CreateVolume: () => ({ volume: { volume_id: 'v', capacity_bytes: '9007199254740993' } }) };
    const volume = await client.controller.createVolume({ name: 'n', capacity: {}, uses: [USE] });
    expect(volume.capacityBytes).toBe(9007199254740993n);
  });
});

describe('the connection', () => {
  it('CW-2, CW-28: without credentials, as localhost, and for all services over one socket', async () => {
    await client.identity.probe();
    await client.node.capabilities();
    await client.controller.capabilities();
    expect(plugin.calls.map(({ method, authority }) => `${method} ${authority}`)).toEqual([
      'Probe localhost',
      'NodeGetCapabilities localhost',
      'ControllerGetCapabilities localhost',
    ]);
  });

  it('VL-250: what recovers in time is not noticed', async () => {
    let failures = 2;
    plugin.script = {
      NodeUnpublishVolume: () => (failures-- > 0 ? new Refusal(status.RESOURCE_EXHAUSTED) : {}),
    };
    await client.node.unpublish('v', '/t');
    expect(plugin.calls).toHaveLength(3);
  });

  it('VL-250, CW-14: a try that takes too long is repeated as it was, ABORTED is not', async () => {
    plugin.script = { NodeUnpublishVolume: () => 'never' };
    const slow = client.node.unpublish('v', '/t', { tryTimeoutMs: 100 });
    await expect(slow).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(plugin.calls).toHaveLength(3);
    expect(new Set(plugin.calls.map(({ request }) => JSON.stringify(request))).size).toBe(1);
    plugin.script = { NodeUnpublishVolume: refusing(status.ABORTED) };
    await expect(client.node.unpublish('v', '/t')).rejects.toMatchObject({ code: status.ABORTED });
    expect(plugin.calls).toHaveLength(4);
  });

  it('VL-249: a call ends at its limit', async () => {
    plugin.script = { Probe: () => 'never' };
    await expect(client.identity.probe({ timeoutMs: 100 })).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  });

  it('VL-248, CW-4: waits for the socket of a plugin that is still starting, and survives its restart', async () => {
    plugin.die();
    const probe = client.identity.probe({ timeoutMs: 3_000 });
    await plugin.listen();
    expect(await probe).toBe(true);
    plugin.die();
    await plugin.listen();
    expect(await client.identity.probe({ timeoutMs: 3_000 })).toBe(true);
  });

  it('VL-248: a plugin that never makes its socket is unavailable', async () => {
    plugin.die();
    await expect(client.identity.probe({ timeoutMs: 100 })).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  it('VL-231: nobody has to wait longer than he wants, nor than the connection lives', async () => {
    plugin.script = { NodeUnpublishVolume: () => 'never' };
    const leaving = new AbortController();
    const call = client.node.unpublish('v', '/t', { signal: leaving.signal });
    leaving.abort();
    await expect(call).rejects.toMatchObject({ code: status.CANCELLED });
    const another = client.node.unpublish('v', '/t');
    client.close();
    await expect(another).rejects.toMatchObject({ code: status.CANCELLED });
  });

  it('CW-3: a path that no socket can have is refused with the way out', () => {
    const longest = `/${'x'.repeat(106)}`;
    expect(new PluginClient(longest)).toBeDefined();
    expect(() => new PluginClient(`${longest}y`)).toThrow(/108 bytes.*use a shorter agent directory/);
  });

  it('CW-11: what was asked is in no error', async () => {
    plugin.script = { NodeStageVolume: refusing(status.INVALID_ARGUMENT, 'bad') };
    const secret = { ...MOUNTED, secrets: { password: 'hunter2' }, stagingPath: '/s' };
    const error: unknown = await client.node.stage(secret).catch((one: unknown) => one);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error)).not.toContain('hunter2');
    expect(String(error)).not.toContain('noatime');
  });
});
