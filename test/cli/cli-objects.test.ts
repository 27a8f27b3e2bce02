import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';

describe('commands on one thing, against recorded answers', () => {
  let api: RecordedApi;
  let directory: string;
  beforeEach(async () => {
    api = await RecordedApi.start();
    directory = await mkdtemp(path.join(tmpdir(), 'waybill-cli-'));
  });
  afterEach(async () => {
    api.stop();
    await rm(directory, { recursive: true });
  });
  const lines = () => api.seen.map(({ line }) => line);
  const lastBody = () => JSON.parse(api.seen.at(-1)?.body ?? '') as unknown;

  it('CL-936: what only the commercial edition has is refused with what the server says', async () => {
    const said = 'Nomad Enterprise only endpoint';
    api.play('GET /v1/quotas', [501, said]);
    expect(await api.run(['quota', 'list'])).toMatchObject({ code: 1, err: expect.stringContaining(said) });
    expect(lines()).toEqual(['GET /v1/quotas']);
    for (const words of [
      ['license', 'get'],
      ['sentinel', 'apply', 'x', 'y'],
      ['recommendation', 'list'],
    ])
      expect(await api.run(words)).toMatchObject({ code: 1, out: '' });
    expect(await api.run(['setup', 'vault'])).toMatchObject({ code: 127 });
  });

  it('CL-705: a host volume by its name or the beginning of its ID: what it is, what it can, who uses it', async () => {
    const volume = {
      ID: '7f3a9c2e-0000-4000-8000-000000000009',
      Name: 'data',
      Namespace: 'prod',
      PluginID: 'mkdir',
      NodeID: '5b6c1e2a-0000-4000-8000-000000000001',
      NodePool: 'default',
      State: 'ready',
    };
    api.play('GET /v1/volumes', [volume, { ...volume, ID: 'data-x', Name: 'data-2' }]);
    api.play(`GET /v1/volume/host/${volume.ID}`, {
      ...volume,
      CapacityBytes: 10_485_760,
      HostPath: '/srv/data',
      RequestedCapabilities: [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }],
      Allocations: [{ ID: ALLOC, NodeID: volume.NodeID, TaskGroup: 'web', JobVersion: 3, DesiredStatus: 'run' }],
    });
    const byName = await api.run(['volume', 'status', 'data']);
    expect(byName.code).toBe(0);
    expect(byName.out.split('\n').slice(0, 13)).toEqual([
      `ID        = ${volume.ID}`,
      'Name      = data',
      'Namespace = prod',
      'Plugin ID = mkdir',
      `Node ID   = ${volume.NodeID}`,
      'Node Pool = default',
      'Capacity  = 10 MiB',
      'State     = ready',
      'Host Path = /srv/data',
      '',
      'Capabilities',
      'Access Mode         Attachment Mode',
      'single-node-writer  file-system',
    ]);
    expect(byName.out).toContain(`\n\nAllocations\nID        Node ID   Task Group`);
    expect(byName.out).toMatch(new RegExp(`\n${ALLOC.slice(0, 8)}  5b6c1e2a  web +3 `));
    expect(api.seen.at(-1)?.query.get('namespace')).toBe('prod');
    api.play('GET /v1/volumes', [volume]);
    expect((await api.run(['volume', 'status', '-type=host', '7f3a'])).out).toBe(byName.out);
    expect((await api.run(['volume', 'status', '-short', '7f3a'])).out).not.toContain('Capabilities');
  });

  it('CL-713: claims of groups on host volumes: shown, and deleted after a question', async () => {
    const claim = {
      ID: 'aa00c1e2-0000-4000-8000-000000000001',
      Namespace: 'prod',
      JobID: 'web',
      TaskGroupName: 'db',
      VolumeID: '7f3a9c2e-0000-4000-8000-000000000009',
      VolumeName: 'data',
    };
    const other = { ...claim, ID: 'aa11c1e2-0000-4000-8000-000000000002' };
    const [yes, deletion] = ['Task group host volume claim', `DELETE /v1/volumes/claim/${claim.ID}`];
    api.play('GET /v1/volumes/claims', [claim]);
    api.play(deletion, '');
    expect((await api.run(['volume', 'claim', 'list', '-job=web', '-group=db', '-volume-name=data', 'aa'])).out).toBe(
      'ID        Namespace  Job ID  Volume ID  Volume Name\naa00c1e2  prod       web     7f3a9c2e   data\n',
    );
    expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toMatchObject({
      prefix: 'aa',
      job_id: 'web',
      task_group: 'db',
      volume_name: 'data',
    });
    expect((await api.run(['volume', 'claim', 'list', '-verbose'])).out).toContain(claim.VolumeID);
    expect(JSON.parse((await api.run(['volume', 'claim', 'list', '-json'])).out)).toEqual([claim]);
    expect(await api.run(['volume', 'claim', 'delete', 'aa'])).toEqual({
      code: 1,
      out: '',
      err: 'This command requires -y option when running in non-interactive mode\n',
    });
    expect(await api.run(['volume', 'claim', 'delete', '-y', 'aa'])).toMatchObject({
      code: 0,
      out: `${yes} ${claim.ID} successfully deleted\n`,
    });
    expect([api.seen.at(-1)?.line, api.seen.at(-1)?.query.get('namespace')]).toEqual([deletion, 'prod']);
    api.play(deletion, [500, 'no']);
    expect((await api.run(['volume', 'claim', 'delete', '-y', claim.ID])).err).toMatch(/^Error deleting claim: .*no/);
    api.play('GET /v1/volumes/claims', [claim, other]);
    const several = await api.run(['volume', 'claim', 'delete', '-y', 'aa']);
    expect([several.code, several.err.split('\n')[0]]).toEqual([1, 'Prefix matched multiple claims']);
    api.play('GET /v1/volumes/claims', []);
    expect((await api.run(['volume', 'claim', 'delete', '-y', 'bb'])).err).toBe('No claim(s) with prefix "bb" found\n');
    expect((await api.run(['volume', 'claim', 'list'])).out).toBe('No task group host volume claims found\n');
  });

  it('CL-844: without access control its commands say what the server says of it, whatever their flags', async () => {
    for (const asked of ['PUT /v1/acl/bootstrap', 'PUT /v1/acl/token', 'GET /v1/acl/policy/a', 'GET /v1/acl/policies'])
      api.play(asked, [400, 'ACL support disabled']);
    for (const [words, doing] of [
      [['acl', 'bootstrap', '-json'], 'bootstrapping'],
      [['acl', 'token', 'create', '-name=x', '-type', 'client', '-policy=a'], 'creating token'],
      [['acl', 'policy', 'list'], 'listing ACL policies'],
    ] as const)
      expect(await api.run([...words])).toEqual({
        code: 1,
        out: '',
        err: `Error ${doing}: Unexpected response code: 400 (ACL support disabled)\n`,
      });
  });

  it('CL-809: root keys are listed, rotated at once or later, and removed', async () => {
    const key = { KeyID: EVAL, State: 'active', CreateTime: 1_760_000_000_000_000_000, PublishTime: 0 };
    api.play('GET /v1/operator/keyring/keys', [key]);
    api.play('PUT /v1/operator/keyring/rotate', { Key: { ...key, State: 'prepublished' }, Index: 7 });
    api.play(`DELETE /v1/operator/keyring/key/${EVAL}`, [409, 'root key in use, cannot delete']);
    const keyring = (...words: string[]) => api.run(['operator', 'root', 'keyring', ...words]);
    const { out } = await keyring('list');
    expect(
      out
        .split('\n')
        .slice(0, 2)
        .map((line) => line.trim().split(/ {2,}/)),
    ).toEqual([
      ['Key', 'State', 'Create Time', 'Publish Time'],
      ['6b4c1d2e', 'active', '<ts>', '<none>'],
    ]);
    expect((await keyring('list', '-verbose')).out).toContain(EVAL);
    expect(await keyring('rotate')).toMatchObject({ code: 1, err: expect.stringContaining('One of "-now" or') });
    expect(await keyring('rotate', '-now', '-prepublish=1h')).toMatchObject({ code: 1 });
    expect((await keyring('rotate', '-now', '-full')).out).toContain('prepublished');
    expect((await keyring('rotate', '-prepublish=1h')).code).toBe(0);
    expect(await keyring('remove', '-force', EVAL)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error: .*in use/),
    });
    expect(lines()).toEqual([
      'GET /v1/operator/keyring/keys',
      'GET /v1/operator/keyring/keys',
      'PUT /v1/operator/keyring/rotate',
      'PUT /v1/operator/keyring/rotate',
      `DELETE /v1/operator/keyring/key/${EVAL}`,
    ]);
    expect(api.seen.slice(2).map(({ query }) => query.toString())).toEqual([
      'full=true',
      expect.stringMatching(/^publish_time=\d{19}$/),
      'force=true',
    ]);
  });

  it('CL-809: what Raft and gossip would be for is refused with a reason, and nothing is asked', async () => {
    for (const [words, reason] of [
      [['operator', 'raft', 'logs', '-x'], 'There is no Raft: '],
      [['operator', 'gossip', 'keyring', 'list'], 'There is no gossip'],
    ] as const)
      expect(await api.run([...words])).toMatchObject({ code: 1, out: '', err: expect.stringContaining(reason) });
    expect(lines()).toEqual([]);
  });

  it('CL-931, OP-76, OP-77, OP-84: joining, forgetting and stored logs: the server is asked, and its word is passed on', async () => {
    api.play('PUT /v1/agent/join', { num_joined: 2, error: '' }, { num_joined: 0, error: 'b is not a member' });
    expect(await api.run(['server', 'join', 'a:4646', 'b'])).toEqual({
      code: 0,
      out: 'Joined 2 servers successfully\n',
      err: '',
    });
    expect(api.seen.at(-1)?.query.getAll('address')).toEqual(['a:4646', 'b']);
    expect(await api.run(['server-join', 'b'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/deprecated.*server join[^]*Error joining: b is not a member\n$/),
    });
    api.play('PUT /v1/agent/force-leave', '');
    expect(await api.run(['server', 'force-leave', '-prune', 'a'])).toEqual({ code: 0, out: '', err: '' });
    expect(api.seen.at(-1)?.query.toString()).toBe('node=a&prune=true');
    api.play('GET /v1/agent/monitor/export', [501, 'logs go to standard output']);
    expect(await api.run(['monitor', 'export', '-on-disk'])).toEqual({
      code: 1,
      out: '',
      err: 'Error exporting the log: Unexpected response code: 501 (logs go to standard output)\n',
    });
  });

  it('CL-357: job allocs drops the column of deadlines when the job cannot be read, unless that is not allowed', async () => {
    const row = { ID: ALLOC, TaskGroup: 'a', CreateTime: 1, JobVersion: 0 };
    const Job = { ID: 'web', Type: 'batch', TaskGroups: [{ Name: 'a', MaxRunDuration: 1_000_000_000 }] };
    const stub = { ID: 'web', Namespace: 'default' };
    api.play('GET /v1/jobs', [stub]);
    api.play('GET /v1/job/web/allocations', [row]);
    api.play('GET /v1/job/web', Job);
    expect((await api.run(['job', 'allocs', 'web'])).out).toMatch(/Max Run Deadline\n/);
    api.play('GET /v1/job/web', [500, 'broken']);
    expect(await api.run(['job', 'allocs', 'web'])).toMatchObject({ code: 0, err: '' });
    api.play('GET /v1/job/web', [403, 'Permission denied']);
    expect(await api.run(['job', 'allocs', 'web'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('Error querying job: '),
    });
  });

  describe('job start', () => {
    const stopped = {
      ID: 'web',
      Name: 'web',
      Namespace: 'prod',
      Version: 3,
      Stop: true,
      SubmitTime: 7,
      TaskGroups: [{ Name: 'a' }],
    };
    beforeEach(() => {
      api.play('GET /v1/jobs', [{ ID: 'web', Namespace: 'prod' }]);
      api.play('GET /v1/job/web', stopped);
      api.play('PUT /v1/jobs', { EvalID: EVAL });
    });

    it('CL-334: registers the job as it was, not stopped any more, with its text', async () => {
      const submission = { Source: 'job "web" {}', Format: 'hcl2', Variables: '', VariableFlags: {} };
      api.play('GET /v1/job/web/submission', submission);
      expect(await api.run(['job', 'start', '-detach', 'web'])).toMatchObject({
        code: 0,
        out: `Job start successful\nEvaluation ID: ${EVAL}\n`,
      });
      expect(lastBody()).toEqual({ Job: { ...stopped, Stop: false }, Submission: submission });
      expect(api.seen.at(-1)?.query.get('namespace')).toBe('prod');
    });

    it('CL-334: scaling is switched back to what the text says; without one it stays off, with a warning', async () => {
      const scaled = { ...stopped, TaskGroups: [{ Name: 'a', Scaling: { Enabled: false, Max: 4 } }] };
      api.play('GET /v1/job/web', scaled);
      const Source = 'job "web" {\n group "a" {\n scaling {\n enabled = true\n max = 4\n }\n }\n}\n';
      api.play('GET /v1/job/web/submission', { Source, Format: 'hcl2', Variables: '', VariableFlags: {} });
      await api.run(['start', '-detach', 'web']);
      expect(lastBody()).toMatchObject({ Job: { TaskGroups: [{ Name: 'a', Scaling: { Enabled: true, Max: 4 } }] } });
      api.play('GET /v1/job/web/submission', [404, 'submission not found']);
      expect((await api.run(['job', 'start', '-detach', 'web'])).err).toContain('scaling policies stay switched off');
      expect(lastBody()).toMatchObject({ Job: { TaskGroups: [{ Scaling: { Enabled: false } }] } });
    });

    it('CL-334, DP-1106: of a job in several regions its text is registered, not the form that one of them has', async () => {
      const regions = ['west', 'east'].map((name) => `region "${name}" {\n count = 2\n }\n`).join('');
      const Source = `job "web" {\n multiregion {\n ${regions} }\n group "a" {\n count = 0\n }\n}\n`;
      const Multiregion = { Regions: [{ Name: 'west' }, { Name: 'east' }] };
      api.play('GET /v1/job/web', { ...stopped, Region: 'west', Multiregion, TaskGroups: [{ Name: 'a', Count: 2 }] });
      api.play('GET /v1/job/web/submission', { Source, Format: 'hcl2', Variables: '', VariableFlags: {} });
      expect(await api.run(['job', 'start', 'web'])).toMatchObject({
        code: 0,
        out: `Job start successful\nEvaluation ID: ${EVAL}\n`,
      });
      expect(lastBody()).toMatchObject({
        Job: { ID: 'web', Namespace: 'prod', Stop: false, TaskGroups: [{ Name: 'a', Count: 0 }] },
        Submission: { Source },
      });
      expect(lastBody()).not.toHaveProperty('Job.Region', 'west');
      api.play('GET /v1/job/web/submission', [404, 'submission not found']);
      expect(await api.run(['job', 'start', 'web'])).toMatchObject({
        code: 1,
        err: expect.stringContaining('run it from its file'),
      });
    });

    it('CL-334: a job that is not stopped, and a refusal', async () => {
      api.play('GET /v1/job/web', { ...stopped, Stop: false }, stopped);
      api.play('PUT /v1/jobs', [500, 'no']);
      expect(await api.run(['job', 'start', 'web'])).toMatchObject({
        code: 1,
        err: 'Job "web" has not been stopped\n',
      });
      expect(await api.run(['job', 'start', 'web'])).toMatchObject({
        code: 1,
        err: 'Error starting job: Unexpected response code: 500 (no)\n',
      });
    });
  });

  it('CL-342: job periodic force finds periodic jobs only, an exact ID among others too', async () => {
    api.play(
      'GET /v1/jobs',
      [
        { ID: 'tick', Namespace: 'prod' },
        { ID: 'tick-2', Namespace: 'prod' },
      ],
      [],
    );
    api.play('PUT /v1/job/tick/periodic/force', { EvalID: EVAL });
    expect((await api.run(['job', 'periodic', 'force', '-detach', 'tick'])).out).toBe(
      `Force periodic successful\nEvaluation ID: ${EVAL}\n`,
    );
    expect(api.seen[0]?.query.get('filter')).toBe('Periodic is not nil');
    expect(await api.run(['job', 'periodic', 'force', 'tock'])).toMatchObject({
      code: 1,
      err: 'No periodic job(s) with prefix or ID "tock" found\n',
    });
    api.play('GET /v1/jobs', [{ ID: 'tick', Namespace: 'prod' }]);
    api.play('PUT /v1/job/tick/periodic/force', [500, 'no']);
    expect((await api.run(['job', 'periodic', 'force', 'tick'])).err).toBe(
      'Error forcing periodic job "tick": Unexpected response code: 500 (no)\n',
    );
  });

  it('CL-304, CL-312: the next launch, in the time zone of the schedule', async () => {
    const Periodic = { Enabled: true, Spec: '0 0 1 1 *', Specs: null, TimeZone: 'UTC' };
    const tick = {
      ID: 'tick',
      Name: 'tick',
      Namespace: 'default',
      Type: 'batch',
      NodePool: 'default',
      Status: 'running',
    };
    api.play('GET /v1/jobs', [tick]);
    const off = { ...Periodic, Enabled: false };
    api.play('GET /v1/job/tick', { ...tick, Periodic }, { ...tick, Periodic, Stop: true }, { ...tick, Periodic: off });
    const { out } = await api.run(['job', 'status', '-short', 'tick']);
    expect(out).toMatch(/^Next Periodic Launch = <ts> \(\d+h\d+m\d+s from now\)$/m);
    expect((await api.run(['job', 'status', '-short', 'tick'])).out).toContain(
      'Next Periodic Launch = none (job stopped)',
    );
    expect((await api.run(['job', 'status', '-short', 'tick'])).out).toContain(
      'Next Periodic Launch = none (launches disabled)',
    );
    api.play('PUT /v1/jobs', { EvalID: '' });
    const file = path.join(directory, 'tick.nomad.hcl');
    await writeFile(file, 'job "tick" {\n periodic { crons = ["0 0 1 1 *"] }\n}\n');
    expect((await api.run(['job', 'run', file])).out).toMatch(
      /^Job registration successful\nApproximate next launch time: <ts> \(\d+h\d+m\d+s from now\)\n$/,
    );
    await writeFile(file, 'job "tick" {\n periodic {\n crons = ["0 0 1 1 *"]\n enabled = false\n }\n}\n');
    expect((await api.run(['job', 'run', file])).out).toBe(
      'Job registration successful\nThe job is not launched: its periodic block is not enabled.\n',
    );
  });

  describe('status <id>', () => {
    const matches = (Matches: Record<string, string[]>) => api.play('PUT /v1/search', { Matches });

    it('CL-901: without an ID the jobs; one match decides', async () => {
      api.play('GET /v1/jobs', []);
      expect((await api.run(['status'])).out).toBe('No running jobs\n');
      matches({ jobs: [], namespaces: ['prod'] });
      api.play('GET /v1/namespaces', [{ Name: 'prod', Description: 'd' }]);
      api.play('GET /v1/namespace/prod', { Name: 'prod', Description: 'd', Quota: '' });
      expect((await api.run(['status', '-verbose', 'pro'])).out).toContain('Name                   = prod\n');
    });

    it('CL-901, CL-902: an exact ID wins over what begins so; two exact ones, or several, are listed', async () => {
      matches({ jobs: ['web', 'web-2'], namespaces: ['web-ns'] });
      api.play('GET /v1/jobs', [{ ID: 'web', Namespace: 'default' }]);
      await api.run(['status', 'web']);
      expect(lines()).toContain('GET /v1/job/web');
      matches({ jobs: ['web', 'web-2'], nodes: ['web'] });
      expect(await api.run(['status', 'web'])).toMatchObject({
        code: 1,
        err: 'Multiple matches found for id "web"\n\nJobs: web, web-2\nNodes: web\n',
      });
      matches({ jobs: ['web', 'web-2'] });
      expect((await api.run(['status', 'we'])).code).toBe(1);
      matches({ jobs: [] });
      expect((await api.run(['status', 'we'])).err).toBe('Unable to resolve ID: "we"\n');
      api.play('PUT /v1/search', [500, 'no']);
      expect((await api.run(['status', 'we'])).err).toBe(
        'Error querying search with id: Unexpected response code: 500 (no)\n',
      );
    });
  });

  it('CL-905: ui -show-url prints the address of a page', async () => {
    const url = async (...words: string[]) => (await api.run(['ui', '-show-url', ...words])).out.replace(api.url, '');
    expect(await url('-namespace=dev', '-region=earth')).toBe('URL for web UI: ?namespace=dev&region=earth\n');
    api.play('PUT /v1/search', { Matches: { allocs: [ALLOC] } });
    expect(await url('0f9e')).toBe(`URL for web UI: /ui/allocations/${ALLOC}\n`);
    api.play('PUT /v1/search', { Matches: { jobs: ['a/b'] } });
    expect(await url('a/b')).toBe('URL for web UI: /ui/jobs/a%2Fb\n');
    api.play('PUT /v1/search', { Matches: {} });
    expect(await url('x')).toBe('');
  });

  it('CL-925, CL-931, CL-809, CL-806: what the servers say of themselves', async () => {
    api.play('GET /v1/agent/self', { stats: { nomad: { server: 'true', leader: 'true' }, client: { b: '2' } } });
    expect((await api.run(['agent-info'])).out).toBe('client\n  b = 2\nnomad\n  leader = true\n  server = true\n');
    const member = (Name: string, port: string, Status = 'alive') => ({
      Name,
      Addr: '10.0.0.1',
      Port: 4648,
      Status,
      ProtocolCur: 2,
      Tags: { region: Status === 'left' ? 'gone' : 'global', dc: 'dc1', build: '1.10.0', raft_vsn: '3', port },
    });
    api.play('GET /v1/agent/members', {
      Members: [member('b.global', '4647'), member('a.global', '9'), member('c.gone', '8', 'left')],
    });
    api.play('GET /v1/status/leader', '10.0.0.1:4647');
    const members = await api.run(['server', 'members']);
    expect(
      members.out
        .trim()
        .split('\n')
        .map((row) => row.split(/ {2,}/)),
    ).toEqual([
      ['Name', 'Address', 'Port', 'Status', 'Leader', 'Raft Version', 'Build', 'Datacenter', 'Region'],
      ['a.global', '10.0.0.1', '4648', 'alive', 'false', '3', '1.10.0', 'dc1', 'global'],
      ['b.global', '10.0.0.1', '4648', 'alive', 'true', '3', '1.10.0', 'dc1', 'global'],
      ['c.gone', '10.0.0.1', '4648', 'left', 'false', '3', '1.10.0', 'dc1', 'gone'],
    ]);
    expect(lines().filter((line) => line === 'GET /v1/status/leader')).toHaveLength(1);
    api.play('GET /v1/status/leader', [500, 'no']);
    expect(await api.run(['server', 'members'])).toMatchObject({
      code: 1,
      err: 'Error determining leaders: Unexpected response code: 500 (no)\n',
    });
    api.play('GET /v1/metrics', (response) => response.end('# TYPE x counter\nx 1\n'));
    expect((await api.run(['operator', 'metrics', '-format=prometheus'])).out).toBe('# TYPE x counter\nx 1\n');
    expect(api.seen.at(-1)?.query.get('format')).toBe('prometheus');
  });

  it('CL-831, CL-832: namespaces are applied by flags or from a file, and shown', async () => {
    api.play('PUT /v1/namespace', null);
    api.play('GET /v1/namespace/dev', { Name: 'dev', Description: 'old', Quota: 'q', Meta: { team: 'a' } });
    expect((await api.run(['namespace', 'apply', '-description', 'new', 'dev'])).out).toBe(
      'Successfully applied namespace "dev"!\n',
    );
    expect(lastBody()).toEqual({ Name: 'dev', Description: 'new', Quota: 'q', Meta: { team: 'a' } });
    const file = path.join(directory, 'ns.json');
    await writeFile(file, '{"Name": "prod", "Description": "d"}');
    const applied = await api.run(['namespace', 'apply', '-description', 'x', file]);
    expect(applied).toMatchObject({ code: 0, err: 'Flags are ignored when a file is specified!\n' });
    expect(lastBody()).toEqual({ Name: 'prod', Description: 'd' });
    api.play('GET /v1/namespaces', [{ Name: 'dev' }, { Name: 'dev-2' }]);
    api.play('GET /v1/namespace/dev', {
      Name: 'dev',
      Description: '',
      Quota: '',
      Capabilities: { EnabledTaskDrivers: ['raw_exec', 'mock'], DisabledTaskDrivers: null },
      Meta: { team: 'a' },
      NodePoolConfiguration: { Default: 'gpu', Allowed: ['gpu', 'all'], Denied: null },
    });
    expect((await api.run(['namespace', 'status', 'dev'])).out).toBe(
      'Name                   = dev\nDescription            = <none>\nQuota                  = <none>\n' +
        'Enabled Drivers        = raw_exec,mock\nDisabled Drivers       = <none>\n' +
        'Enabled Network Modes  = *\nDisabled Network Modes = <none>\n\nMetadata\nteam = a\n\n' +
        'Node Pool Configuration\nDefault = gpu\nAllowed = gpu, all\nDenied  = <none>\n',
    );
    api.play('GET /v1/namespaces', [
      { Name: 'dev-1', Description: '' },
      { Name: 'dev-2', Description: '' },
    ]);
    expect((await api.run(['namespace', 'status', 'dev'])).err).toContain('Prefix matched multiple namespaces\n\nName');
  });

  describe('hints', () => {
    const hint = '\n\n==> View and manage jobs in the Web UI: ';
    const self = (ShowCLIHints: boolean | undefined) =>
      api.play('GET /v1/agent/self', { config: { UI: { ShowCLIHints } } });
    beforeEach(() => api.play('GET /v1/jobs', []));

    it.each([
      ['the server says so', true, '', true],
      ['the server says nothing', undefined, '', true],
      ['the server does not want them', false, '', false],
      ['the user does', false, 'true', true],
      ['the user does not', true, 'false', false],
    ])('CL-172: %s', async (_, server, own, shown) => {
      self(server);
      const { err } = await api.run(['job', 'status'], { WAYBILL_CLI_SHOW_HINTS: own });
      expect(err).toBe(shown ? `${hint}${api.url}/ui/jobs\n` : '');
      if (own === 'false') expect(lines()).toEqual(['GET /v1/jobs']);
    });

    it('CL-172: never without the server, and a value that is none is named', async () => {
      expect((await api.run(['job', 'status'], { WAYBILL_CLI_SHOW_HINTS: 'true' })).err).toBe('');
      self(true);
      const { err } = await api.run(['job', 'status'], { WAYBILL_CLI_SHOW_HINTS: 'maybe' });
      expect(err).toMatch(/^Invalid value "maybe" for WAYBILL_CLI_SHOW_HINTS: .*\n\n\n==> /);
    });

    it("CL-171, CL-173: not after data; a job's page names its own namespace", async () => {
      self(true);
      const env = { WAYBILL_CLI_SHOW_HINTS: '' };
      expect((await api.run(['job', 'status', '-json'], env)).err).toBe('');
      api.play('GET /v1/jobs', [{ ID: 'a/b', Namespace: 'prod' }]);
      api.play('GET /v1/job/a%2Fb', { ID: 'a/b', Name: 'a/b', Namespace: 'prod', Type: 'batch', NodePool: 'default' });
      const { err } = await api.run(['job', 'status', '-short', '-namespace=*', 'a/b'], env);
      expect(err).toBe(`\n\n==> View this job in the Web UI: ${api.url}/ui/jobs/a%2Fb@prod\n`);
    });
  });
});
