import { expect, it } from 'vitest';
import { LogFeed } from './log-feed.js';
import { createLogger } from './logger.js';

it('OP-82: a listener to one service gets its lines alone, where several services share a process', () => {
  const feed = new LogFeed();
  const destination = { write: () => {} };
  const loggerOf = (service: string) => createLogger(service, 'info', { feed, destination });
  const [all, ofAgent]: [string[], string[]] = [[], []];
  const textOf = (line: string): string => (JSON.parse(line) as { msg: string }).msg;
  feed.subscribe(0, (line) => all.push(textOf(line)));
  const leave = feed.ofService('agent').subscribe(0, (line) => ofAgent.push(textOf(line)));
  loggerOf('agent').info('of the agent');
  loggerOf('nodes').warn('of nodes');
  loggerOf('agent').with({ part: 'tasks' }).info('of a part');
  leave();
  loggerOf('agent').info('later');
  expect(ofAgent).toEqual(['of the agent', 'of a part']);
  expect(all).toEqual(['of the agent', 'of nodes', 'of a part', 'later']);
});
