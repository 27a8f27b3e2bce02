import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TaskEvent } from '../driver.js';
import { EventLimit, MAX_EVENTS_PER_SECOND } from './event-limit.js';

describe('events of an external driver', () => {
  it('PG-124: a task has at most ten per second, the rest is counted in one', async () => {
    const time = new FakeTime();
    const passed: string[] = [];
    const limit = new EventLimit(time, ({ task, message }) => passed.push(`${task}: ${message}`));
    const event = (task: string, message: string): TaskEvent => ({ allocId: 'a', task, message, annotations: {} });
    for (let n = 0; n < 10_000; n++) limit.forwardEvent(event('web', String(n)));
    limit.forwardEvent(event('db', 'up'));
    expect(passed).toHaveLength(MAX_EVENTS_PER_SECOND + 1);
    await time.pass(1_000);
    expect(passed.at(-1)).toBe('web: … and 9990 more');
    limit.forwardEvent(event('web', 'again'));
    await time.pass(1_000);
    expect(passed.at(-1)).toBe('web: again');
  });
});
