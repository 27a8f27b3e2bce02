import { expect, it } from 'vitest';
import { updatesInWords } from './plan-words.js';

const none = {
  Ignore: 0,
  Place: 0,
  Migrate: 0,
  Stop: 0,
  InPlaceUpdate: 0,
  DestructiveUpdate: 0,
  Canary: 0,
  Preemptions: 0,
  Disconnect: 0,
  Reconnect: 0,
  RescheduleNow: 0,
  RescheduleLater: 0,
};

it('says what a plan does to a group', () => {
  expect(updatesInWords(none)).toBe('nothing changes');
  expect(updatesInWords({ ...none, Place: 2, Ignore: 1 })).toBe('2 placed, 1 left as they are');
});
