import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';
import { ALLOC, EVAL, NODE, deployment, placed } from '../support/recorded-objects.js';

describe('the command line against recorded answers of the API', () => {
  let api: RecordedApi;

  beforeEach(async () => {
    api = await RecordedApi.start();
  });

  afterEach(() => api.stop());

  const play: RecordedApi['play'] = (line, ...answers) => api.play(line, ...answers);
  const run: RecordedApi['run'] = (...call) => api.run(...call);

  it('CL-501: nodes, in short, quiet and refused', async () => {
    play('GET /v1/nodes', [
      {
        ID: NODE,
        NodePool: 'default',
        Datacenter: 'dc1',
        Name: 'n1',
        NodeClass: '',
        Drain: false,
        SchedulingEligibility: 'eligible',
        Status: 'ready',
      },
    ]);
    expect((await run(['node', 'status'])).out).toBe(
      'ID        Node Pool  DC   Name  Class   Drain  Eligibility  Status\n' +
        '1f3a9c2e  default    dc1  n1    <none>  false  eligible     ready\n',
    );
    expect((await run(['node', 'status', '-quiet'])).out).toBe(`${NODE}\n`);
    expect((await run(['node', 'status', '-quiet', '-json'])).err).toBe(
      '-quiet cannot be used with -verbose or -json\n',
    );
  });

  it('CL-503, CL-1107: one node, whatever its answer lacks', async () => {
    play('GET /v1/nodes', [{ ID: NODE }]);
    play(`GET /v1/node/${NODE}`, { ID: NODE, Name: 'n1', Drivers: { raw_exec: { Detected: true, Healthy: false } } });
    play(`GET /v1/node/${NODE}/allocations`, [{ ID: ALLOC, ClientStatus: 'running' }]);
    const { code, out } = await run(['node', 'status', '1f3a']);
    expect(code).toBe(0);
    expect(out).toContain('Driver Status   = raw_exec (unhealthy)');
    expect(out).toContain('\nAllocations\nID        Node ID');
  });

  it('CL-623, CL-624: an evaluation', async () => {
    const evaluation = {
      ID: EVAL,
      Status: 'complete',
      JobID: 'web',
      TriggeredBy: 'job-register',
      FailedTGAllocs: { cache: { NodesEvaluated: 0 } },
      BlockedEval: '77777777-0000',
    };
    play('GET /v1/evaluations', [evaluation]);
    play(`GET /v1/evaluation/${EVAL}`, evaluation);
    play(`GET /v1/evaluation/${EVAL}/allocations`, [placed]);
    const { out } = await run(['eval', 'status', '6b4c']);
    expect(out).toContain('Status Description = complete\n');
    expect(out).toContain('Placement Failures = true\n');
    expect(out).toContain('\nPlaced Allocations\nID ');
    expect(out).toContain(
      '\nFailed Placements\nTask Group "cache" (failed to place 1 allocation):\n  * No nodes were eligible for evaluation\n\n' +
        'Evaluation "77777777" waiting for additional capacity to place remainder\n',
    );
  });

  it('CL-231: the allocations of a job, also of earlier ones of its ID', async () => {
    play('GET /v1/jobs', [403, 'Permission denied']);
    play('GET /v1/job/web/allocations', [placed], [], [500, 'boom']);
    const { code, out } = await run(['job', 'allocs', '-all', 'web']);
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      'ID        Node ID   Task Group  Version  Desired  Status   Created  Modified',
    ]);
    expect(out).toMatch(/^0f9e8d7c {2}1f3a9c2e {2}cache {7}0 {8}run {6}pending {2}/m);
    expect(api.seen.at(-2)?.query.get('all')).toBe('true');
    expect((await run(['job', 'allocs', 'web'])).out).toBe('No allocations placed\n');
    expect((await run(['job', 'allocs', 'web'])).err).toBe(
      'Error retrieving allocations: Unexpected response code: 500 (boom)\n',
    );
  });

  it('CL-358, CL-601, CL-611: the deployments of a job, or the latest', async () => {
    play('GET /v1/jobs', [{ ID: 'web', Namespace: 'prod' }]);
    play('GET /v1/job/web/deployments', [deployment], [], [500, 'boom']);
    play('GET /v1/job/web/deployment', deployment, null);
    const words = ['job', 'deployments', 'we'];
    expect((await run(words)).out).toBe(
      'ID        Job ID  Job Version  Status      Description\n' +
        'a1b2c3d4  web     0            successful  Deployment completed successfully\n',
    );
    expect((await run(words)).out).toBe('No deployments found\n');
    expect((await run(words)).err).toBe('Error retrieving deployments: Unexpected response code: 500 (boom)\n');
    expect((await run([...words, '-latest'])).out).toBe(
      'ID          = a1b2c3d4\nJob ID      = web\nJob Version = 0\nStatus      = successful\n' +
        'Description = Deployment completed successfully\n\nDeployed\n' +
        'Task Group  Desired  Placed  Healthy  Unhealthy\ncache       1        1       1        0\n',
    );
    expect((await run([...words, '-latest'])).out).toBe('No deployment found\n');
    expect(api.seen.at(-1)?.query.get('namespace')).toBe('prod');
  });

  describe('event tail', () => {
    const line = (index: number) =>
      `{"Index":${index},"Events":[{"Topic":"Job","Type":"JobRegistered","Key":"web","Namespace":"default","Index":${index},"Payload":{"Job":{"Version":1152921504606846977,"Status":"running"}}}]}\n`;

    it('CL-1004, CL-1010: goes on behind the last line over a broken connection, JSON lines as they came', async () => {
      play(
        'GET /v1/event/stream',
        (response) => {
          response.writeHead(200, { 'X-Waybill-Event-Head': '4', 'X-Waybill-Event-Floor': '1' });
          response.write(`{}\n${line(3)}${line(4)}{"Index":5,"Ev`, () => response.destroy());
        },
        (response) => response.end(`{}\n${line(4)}${line(5)}`),
      );
      const { code, out } = await run(['event', 'tail', '-index=3', '-json', '-count=3', 'Job:web', '-topic', 'Node']);
      expect([code, out]).toEqual([0, line(3) + line(4) + line(5)]);
      expect(api.seen.map(({ query }) => query.get('index'))).toEqual(['3', '5']);
      expect(api.seen[0]?.query.getAll('topic')).toEqual(['Job:web', 'Node']);
    });

    it('CL-1001, CL-1011: rows of text, and -no-follow ends at the head', async () => {
      play('GET /v1/event/stream', (response) => {
        response.writeHead(200, { 'X-Waybill-Event-Head': '3' });
        response.write(`{}\n${line(3)}`);
      });
      const { code, out } = await run(['event', 'tail', '-index', '1', '-no-follow']);
      expect(code).toBe(0);
      expect(out).toMatch(/^INDEX {7}TIME .*SUMMARY\n3 {11}<none> .*JobRegistered .*web {7}v\d+ running\n$/);
    });

    it('CL-1008: Ctrl-C says where to go on', async () => {
      play('GET /v1/event/stream', (response) => void response.write(`{}\n${line(3)}`));
      const { code, err } = await run(['event', 'tail', '-index=1'], {}, /running/);
      expect([code, err]).toEqual([0, 'Last index: 3. Resume with -index 4\n']);
    });
  });

  describe('talking to the server', () => {
    it('CL-121, CL-123, CL-124: where settings come from and what every request carries', async () => {
      play('GET /v1/nodes', []);
      const parent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
      const env = {
        NOMAD_REGION: 'n',
        WAYBILL_REGION: 'w',
        NOMAD_TOKEN: 's3cret',
        NOMAD_NAMESPACE: 'dev',
        TRACEPARENT: parent,
      };
      expect((await run(['node', 'status', '-namespace=x', '-reason', 'why'], env)).out).toBe('No nodes registered\n');
      expect(Object.fromEntries(api.seen[0]?.query ?? [])).toEqual({ region: 'w', namespace: 'x' });
      expect(api.seen[0]?.headers).toMatchObject({
        'x-nomad-token': 's3cret',
        'accept-encoding': 'gzip',
        'user-agent': expect.stringMatching(/^waybill-cli\//) as string,
        'x-waybill-reason': 'why',
        traceparent: expect.stringMatching(
          new RegExp(`^00-${'1'.repeat(32)}-(?!${'2'.repeat(16)})[0-9a-f]{16}-01$`),
        ) as string,
      });
      const nowhere = await run(['node', 'status', '-address', ''], { WAYBILL_ADDR: '', NOMAD_ADDR: api.url });
      expect(nowhere.out).toBe('No nodes registered\n');
    });

    it('CL-1119: a closed port, HTML, an empty or cut answer, a long error: one error, exit 1, no stack', async () => {
      const page = (response: ServerResponse) => void response.end('<html>');
      play(
        'GET /v1/nodes',
        page,
        (r) => void r.end(),
        (r) => void r.end('[{"ID":'),
        [500, 'x'.repeat(1 << 20)],
        (r) => void r.destroy(),
      );
      for (let i = 0; i < 5; i++) {
        const { code, err } = await run(['node', 'status', '-token', 's3cret']);
        expect(code).toBe(1);
        expect(err).toMatch(/^Error querying node status: [^\n]{1,1100}\n$/);
        expect(err).not.toContain('s3cret');
      }
      const closed = await run(['node', 'status', '-address', 'http://user:pw@127.0.0.1:1']);
      expect(closed.err).toMatch(
        /^Error querying node status: Get "http:\/\/127\.0\.0\.1:1\/v1\/nodes": connection refused/,
      );
    });

    it('CL-122: an address that is none', async () => {
      expect((await run(['node', 'status', '-address', 'a b'])).err).toMatch(
        /^Error initializing client: invalid address 'a b': /,
      );
      for (const [address, shown = address] of [
        ['localhost:4646'],
        ['127.0.0.1:4646'],
        ['waybill.internal'],
        ['me:pw@localhost:4646', 'localhost:4646'],
      ])
        expect((await run(['node', 'status', '-address', address!])).err).toBe(
          `Error initializing client: invalid address '${shown}': it has no scheme, write http://${shown}\n`,
        );
      expect((await run(['node', 'status', '-address', 'ftp://localhost'])).err).toContain('none of http, https, unix');
    });

    it('CL-103, CL-104, CL-107, CL-113: wrong words', async () => {
      const unknown = await run(['nonsense']);
      expect([unknown.code, unknown.out.split('\n')[2]]).toEqual([127, 'Common commands:']);
      const group = await run(['job', 'nonsense']);
      expect([group.code, group.out.includes('Subcommands:'), group.err]).toEqual([1, true, '']);
      const before = await run(['-address=x', 'job', 'status']);
      expect([before.code, before.err.startsWith('Invalid flags before the subcommand.')]).toEqual([1, true]);
      const many = await run(['run', 'a', 'b']);
      expect([many.code, many.err]).toEqual([
        1,
        "This command takes one argument: <path>\nFor additional help try 'waybill job run -help'\n",
      ]);
      expect(api.seen).toEqual([]);
    });
  });

  describe('as a process', () => {
    const bin = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

    it('CL-911, CL-106: version', async () => {
      for (const words of [['version'], ['-v'], ['--version']]) {
        const child = spawn(process.execPath, [bin, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
        let out = '';
        child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
        expect(await once(child, 'close')).toEqual([0, null]);
        expect(out).toMatch(/^Waybill v\d+\.\d+\.\d+\nNomad API \d+\.\d+\.\d+\n$/);
      }
    });

    it('CL-136: a reader that closes the pipe ends it silently', async () => {
      play('GET /v1/event/stream', (response) => {
        response.writeHead(200, { 'X-Waybill-Event-Head': '1' });
        const lines = `{"Index":2,"Events":[{"Topic":"Job","Type":"T","Key":"${'k'.repeat(60_000)}","Namespace":""}]}\n`;
        response.write(`{}\n${lines}`);
        for (let i = 3; i < 50; i++) response.write(lines.replace('"Index":2', `"Index":${i}`));
      });
      const child = spawn(process.execPath, [bin, 'event', 'tail', '-address', api.url], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let err = '';
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      await once(child.stdout, 'data');
      child.stdout.destroy();
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(err).toBe('');
    });
  });
});
