import { expect, it } from 'vitest';
import { DEFAULT_TRACKED_VERSIONS } from './jobs/job-versions.js';
import { MAX_SCALING_EVENTS } from './jobs/scaling-event.js';
import { SKIPPABLE_BIT } from './log/catalogue.js';
import { REQUEST_WINDOW_NS } from './log/request-window.js';
import { MAX_LINE, MAX_STEP_TIMES } from './log/step-times.js';
import { MAX_NAMED_MEMBERS } from './machine/change-text.js';
import { NODE_EVENTS_KEPT } from './nodes/node-events.js';

it.each<[string, number, number]>([
  ['ST-6: a request is remembered for 150 s', REQUEST_WINDOW_NS, 150e9],
  ['ST-8: the bit of a type that may be skipped', SKIPPABLE_BIT, 128],
  ['ST-37: ten events of a node', NODE_EVENTS_KEPT, 10],
  ['ST-84: six versions of a job', DEFAULT_TRACKED_VERSIONS, 6],
  // Waybill's own limits:
  ['scaling events of a group', MAX_SCALING_EVENTS, 20],
  ['members that a text names', MAX_NAMED_MEMBERS, 5],
  ['characters of the steps of one evaluation', MAX_LINE, 1_024],
  ['characters of step times', MAX_STEP_TIMES, 16_384],
])('%s', (_, value, wanted) => {
  expect(value).toBe(wanted);
});
