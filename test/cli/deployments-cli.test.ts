import type { Deployment } from '@waybill/model';
import { newUuid } from '@waybill/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { type WrittenRollout, WrittenRollouts } from '../support/written-rollouts.js';

let cluster: WrittenRollouts;
let first: WrittenRollout;
let second: WrittenRollout;
beforeAll(async () => {
  cluster = await WrittenRollouts.start();
  first = await cluster.rollout('first', `abcd${newUuid().slice(4)}`);
  second = await cluster.rollout('second', `abce${newUuid().slice(4)}`);
});
afterAll(() => cluster?.stop());

const cli = (...words: string[]) => runCli(cluster.api.url, ['deployment', ...words]);

describe('deployments on the command line', () => {
  it('CL-601, DP-1701: a list, short or whole, as JSON, by an expression; none is said so', async () => {
    const { out } = await cli('list');
    expect(out.split('\n')[0]).toMatch(/^ID +Job ID +Job Version +Status +Description *$/);
    expect(out).toMatch(/^abcd[0-9a-f]{4} +first +1 +running +Deployment is running but requires manual promotion/m);
    expect((await cli('list', '-verbose')).out).toContain(first.id);
    expect(((await cli('list', '-json')).out.match(/"ID": "[^"]+"/g) ?? []).toSorted()).toEqual(
      [first.id, second.id].map((id) => `"ID": "${id}"`).toSorted(),
    );
    const template = await cli('list', '-t', '{{range .}}{{.JobID}},{{end}}');
    expect(template.out.trim().split(',').toSorted().join(' ').trim()).toBe('first second');
    const filtered = await cli('list', '-filter', 'JobID == "second"');
    expect(filtered.out).toContain('second');
    expect(filtered.out).not.toContain('first');
    expect((await cli('list', '-namespace', 'elsewhere')).out.trim()).toBe('No deployments found');
  });

  it('DP-1702: an id by its start: whole bytes of it, one match and no other', async () => {
    expect((await cli('status', first.id)).out).toContain(first.job.ID);
    expect((await cli('status', 'abcd')).out).toContain(first.job.ID);
    expect((await cli('status', first.id.slice(0, 7))).out).toContain(first.job.ID); // the half byte is dropped
    expect((await cli('status', first.id.slice(0, 12))).out).toContain(first.job.ID); // with a hyphen
    const wrong = async (prefix: string) => {
      const { code, out, err } = await cli('status', prefix);
      expect(code).toBe(1);
      return out + err;
    };
    expect(await wrong('a')).toContain('Identifier must contain at least two characters.');
    expect(await wrong('ffee')).toContain('Deployment ID "ffee" matched no deployments');
    const several = await wrong('abc');
    expect(several).toContain('Prefix matched multiple deployments');
    expect(several).toMatch(/abcd[0-9a-f]{4} +first/);
    expect(several).toMatch(/abce[0-9a-f]{4} +second/);
  });

  it('DP-1703: what each command says, and the evaluation it leaves', async () => {
    const evaluation = /^Evaluation ID: [0-9a-f-]{36}$/m;
    expect(await cli('pause', 'abcd')).toEqual({ code: 0, out: `Deployment "${first.id}" paused\n`, err: '' });
    const resumed = await cli('resume', '-detach', 'abcd');
    expect(resumed.out).toContain(`Deployment "${first.id}" resumed\n`);
    expect(resumed.out).toMatch(evaluation);
    const early = await cli('promote', '-detach', 'abcd');
    expect([early.code, early.err]).toEqual([1, expect.stringContaining('Error promoting deployment: ')]);
    await first.report(true);
    expect((await cli('promote', '-detach', '-group', 'none', 'abcd')).code).toBe(0);
    expect((await first.read()).TaskGroups['web']!.Promoted).toBe(false);
    expect((await cli('promote', '-detach', 'abcd')).out).toMatch(evaluation);
    expect((await first.read()).TaskGroups['web']!.Promoted).toBe(true);
    expect((await cli('fail', '-detach', 'abcd')).out).toContain(
      `Deployment "${first.id}" failed. Auto-reverted to job version 0.\n`,
    );
    const unblocked = await cli('unblock', '-detach', 'abce');
    expect([unblocked.code, unblocked.err]).toEqual([1, expect.stringContaining("can't unblock running deployment")]);
  });

  it('CL-602: what a status shows of each group', async () => {
    const { out } = await cli('status', second.id);
    expect(out).toMatch(
      /^Task Group +Auto Revert +Promoted +Desired +Canaries +Placed +Healthy +Unhealthy( +Progress Deadline)?/m,
    );
    expect(out).toMatch(/^web +true +false +3 +1 +1 +0 +0/m);
    const ended = await cli('status', '-monitor', first.id);
    expect(ended.code).toBe(0);
    expect((JSON.parse((await cli('status', '-json', first.id)).out) as Deployment).Status).toBe('failed');
  });
});
