import { FakeTime } from '@waybill/model';
import { createLogger, LogFeed } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { LogEndedError, LogMonitor, MAX_KEPT_LINES, type MonitorWish } from './log-monitor.js';

/** A logger that writes warnings only, and somebody who watches it; others may. */
function watched(wish: MonitorWish) {
  const written: string[] = [];
  const feed = new LogFeed();
  const log = createLogger('api', 'warn', { feed, destination: { write: (line) => void written.push(line) } });
  const time = new FakeTime();
  const gone = new AbortController();
  const watch = (wanted: MonitorWish) => {
    const pieces = new LogMonitor(feed, time, time, wanted).pieces(gone.signal);
    return async (ms: number): Promise<string | null> => {
      const step = pieces.next();
      await time.pass(ms);
      return (await step).value?.data.toString() ?? null;
    };
  };
  return { log, written, feed, gone, watch, next: watch(wish) };
}

describe('the monitor of a process', () => {
  it('OP-83: the first frame comes at once, heartbeats every second, lines gathered for 200 ms', async () => {
    const { log, next } = watched({ level: 'info', json: false });
    expect(await next(0)).toBeNull();
    expect(await next(1_000)).toBeNull();
    log.info('one');
    log.info('two', { a: 1 });
    const text = await next(200);
    expect(text?.split('\n').map((line) => line.slice(25))).toEqual(['[INFO]  api: one', '[INFO]  api: two: a=1', '']);
  });

  it('OP-82: a reader of a lower level sees what the log does not hold, and nothing is made for nobody', async () => {
    const { log, written, feed, gone, next } = watched({ level: 'debug', json: true });
    await next(0);
    log.with({ part: 'x' }).debug('small');
    log.warn('large');
    log.trace('tiny');
    const lines = ((await next(200)) ?? '').trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['small', 'large']);
    expect(written).toHaveLength(1);
    gone.abort();
    await next(1_000);
    await next(0);
    expect(feed.lowest).toBe(Infinity);
  });

  it('OP-274: two of different levels see what each of them wants, and the log goes on as it is set', async () => {
    const { log, written, watch, next } = watched({ level: 'debug', json: false });
    const other = watch({ level: 'error', json: false });
    await Promise.all([next(0), other(0)]);
    log.debug('small');
    log.error('large');
    const said = await Promise.all([next(200), other(200)]);
    expect(said.map((text) => text?.match(/small|large/g))).toEqual([['small', 'large'], ['large']]);
    expect(written.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['large']);
  });

  it('OP-274: a log that ends says why in the last line, behind all that came, however full it is', async () => {
    const { log, gone, next } = watched({ level: 'info', json: false });
    await next(0);
    for (let n = 0; n < MAX_KEPT_LINES; n++) log.info('line');
    gone.abort(new LogEndedError('No path to node'));
    const text = (await next(0)) ?? '';
    expect(text.split('\n').filter((line) => line.endsWith('line'))).toHaveLength(MAX_KEPT_LINES);
    expect(text.endsWith('line\n[ERROR] No path to node\n')).toBe(true);
    expect(await next(0)).toBeNull();
  });

  it('OP-83: a slow reader loses lines, and is told how many', async () => {
    const { log, next } = watched({ level: 'info', json: false });
    await next(0);
    for (let n = 0; n < MAX_KEPT_LINES + 7; n++) log.info('line');
    const lines = ((await next(200)) ?? '').trim().split('\n');
    expect(lines[0]).toBe('[WARN] Monitor dropped 7 logs during monitor request');
    expect(lines).toHaveLength(MAX_KEPT_LINES + 1);
  });
});
