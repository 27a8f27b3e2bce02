import { FakeTime } from '@waybill/model';
import { expect, it } from 'vitest';
import { aTemplate } from '../../fixtures/task-template.js';
import { TaskTemplates } from './task-templates.js';

it('AG-292: what changes all the time is told all the same, once for each splay', async () => {
  const time = new FakeTime();
  let version = 0;
  const acted: string[] = [];
  const spec = aTemplate({ ChangeMode: 'signal', ChangeSignal: 'SIGHUP' });
  const templates = new TaskTemplates(
    [{ spec, render: () => ({ text: String(version) }) }],
    {
      timers: time,
      random: () => 0.5,
      write: async () => true,
      emit: () => {},
      act: async ({ kind }) => void acted.push(`${kind} ${version}`),
      failed: (error) => acted.push(String(error)),
      over: new AbortController().signal,
    },
    () => time.nowMs(),
  );
  await templates.first();
  for (version = 1; version <= 10; version++) {
    templates.handleInput();
    await time.pass(1_000);
  }
  expect(acted).toEqual(['signal 3', 'signal 6', 'signal 9']);
});
