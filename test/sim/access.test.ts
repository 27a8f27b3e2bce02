import { policyWrite } from '@waybill/api';
import { describe, expect, it } from 'vitest';
import { ACCESS_WORKLOAD } from './access/access-plan.js';
import { meaningOf, POLICY_MEANINGS } from './access/policy-texts.js';
import { Rights } from './access/rights.js';
import { PORTION_TIMEOUT_MS } from './expect-no-failure.js';
import { SMALL_RUN } from './run-plan.js';
import { firstFailure, seedRange } from './seeds.js';
import type { RunResult } from './simulation.js';
import { storyOf } from './story.js';

const LAST_SEED = 14;

describe('what readers are shown', () => {
  /** What was judged, and actions that were done. */
  const seen = new Set<string>();
  const note = ({ acknowledged, judged }: RunResult): void => {
    for (const name of [...acknowledged.keys(), ...judged.keys()]) seen.add(name);
  };

  it(
    `ND-20 DP-1207 DP-1210 DP-1213 OP-114 OP-118 OP-137 OP-138 OP-140 OP-142 OP-154 AU-231 AU-232 AU-233 AU-234 AU-235: no answer and no event shows what its reader may not see, and none is missing (seeds 1 to ${LAST_SEED})`,
    { timeout: PORTION_TIMEOUT_MS },
    async () => {
      const failed = await firstFailure(seedRange(1, LAST_SEED), { ...SMALL_RUN, access: true }, note);
      if (failed)
        expect.fail(
          `npm run sim -- --small --access --seed ${failed.plan.seed}\n${storyOf(failed.plan, failed.result)}`,
        );
    },
  );

  it('OP-173: in these runs every kind of answer was judged, those of the sockets of tasks included, and every action done', () => {
    const answers = ['200', '401', '403', '404', 'stream 200', 'stream 403', 'events'];
    const streams = ['ended streams', 'streams open at rest'];
    const wanted = [...answers, ...streams, ...Object.keys(ACCESS_WORKLOAD)];
    expect(wanted.filter((name) => !seen.has(name))).toEqual([]);
  });
});

describe('the judgement of what readers may see', () => {
  it.each(POLICY_MEANINGS)('is about a policy that the API takes: $text', ({ text }) => {
    const policy = { Name: 'one', Description: '', Rules: text, JobACL: null };
    expect(policyWrite(policy, 'one').payload.Policies).toHaveLength(1);
    expect(meaningOf(text).text).toBe(text);
  });

  const rightsOf = (...texts: readonly string[]): Rights => new Rights(texts.map(meaningOf));

  it('OP-123 OP-124 OP-131: an exact label comes before a star, and a denial before what others grant', () => {
    const everywhere = 'namespace "*" { policy = "read" }';
    const rights = rightsOf(everywhere, 'namespace "team" { capabilities = ["list-jobs"] }');
    expect([rights.has('read-job', 'default'), rights.has('read-job', 'team')]).toEqual([true, false]);
    const denied = rightsOf('namespace "secret" { policy = "write" }', 'namespace "secret" { policy = "deny" }');
    expect([denied.has('read-job', 'secret'), denied.knows('secret')]).toEqual([false, false]);
  });

  it('OP-132 OP-135: the closest rule for a variable decides alone', () => {
    const [narrow, wide] = POLICY_MEANINGS.filter(({ variables }) => variables?.some(({ grants }) => grants.length > 0))
      .map(({ text }) => text)
      .filter((text) => text.includes('deny') || text.includes('namespace "*"'));
    const rights = rightsOf(narrow ?? '', wide ?? '');
    expect(rights.onVariable('list', 'default', 'app/leader')).toBe(false);
    expect(rights.onVariable('read', 'default', 'app/settings')).toBe(false);
    expect(rights.onVariable('read', 'team', 'app/leader')).toBe(true);
  });
});
