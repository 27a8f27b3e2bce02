import { describe, expect, it } from 'vitest';
import { MUTATIONS } from './mutations/mutations.js';
import { planOf, SMALL_RUN } from './run-plan.js';
import { shrink } from './shrink.js';
import { simulate } from './simulation.js';
import { storyOf } from './story.js';

describe('a failed run', () => {
  it('is shrunk to what is needed for the same invariant to break, and told with its transactions', async () => {
    const mutation = MUTATIONS.find(({ name }) => name === 'write answered before it can be read');
    const undo = mutation!.apply();
    try {
      const plan = planOf(1, SMALL_RUN);
      const failed = await simulate(plan);
      expect(failed.failure?.message).toContain('readable-write');
      const { plan: smaller, result } = await shrink(plan, failed);
      expect(result.failure?.message).toContain('readable-write');
      expect(smaller.events.length).toBeLessThan(5);
      const story = storyOf(smaller, result);
      expect(story).toContain('readable-write');
      expect(story).toContain('by anonymous');
    } finally {
      undo();
    }
  });
});
