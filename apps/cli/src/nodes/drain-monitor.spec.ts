import { describe, expect, it } from 'vitest';
import { changeOf } from './drain-monitor.js';
import type { NodeAllocation } from './node-sections.js';

const marked = { Migrate: true, Reschedule: null, ForceReschedule: null, NoShutdownDelay: null };
const alloc = (over: object = {}) =>
  ({ ID: 'a', ClientStatus: 'running', DesiredStatus: 'run', ...over }) as NodeAllocation;

describe('lines of the drain monitor', () => {
  it('CL-515: a new status, a new mark, then the stop; an allocation first seen says nothing', () => {
    const isMarked = alloc({ DesiredTransition: marked });
    const isStopping = alloc({ DesiredTransition: marked, DesiredStatus: 'stop' });
    expect(changeOf(undefined, isMarked)).toBeUndefined();
    expect(changeOf(alloc(), alloc())).toBeUndefined();
    expect(changeOf(alloc(), isMarked)).toBe('marked for migration');
    expect(changeOf(isMarked, isMarked)).toBeUndefined();
    expect(changeOf(isMarked, isStopping)).toBe('draining');
    expect(changeOf(isStopping, { ...isStopping, ClientStatus: 'complete' })).toBe('status running -> complete');
  });
});
