import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FileSink, type FileSinkOptions, MAX_WAITING } from './file-sink.store.js';

let directory: string;
let file: string;
let time: FakeTime;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'waybill-audit-'));
  file = path.join(directory, 'audit', 'audit.log');
  time = new FakeTime();
});
afterEach(() => rmSync(directory, { recursive: true }));

const sink = (members: Partial<FileSinkOptions> = {}): FileSink =>
  new FileSink({
    file,
    mode: 0o600,
    sync: false,
    rotation: { bytes: 0, ageMs: 0, files: 0 },
    clock: time,
    logger: silentLogger,
    ...members,
  });
const linesOf = (name: string): string[] => readFileSync(name, 'utf8').split('\n').filter(Boolean);
const names = (): string[] => readdirSync(path.dirname(file)).toSorted();

it('AU-279: lines are whole and in order, however many come at once; nobody else may read them', async () => {
  const audit = sink({ sync: true });
  const lines = Array.from({ length: 2_000 }, (_, n) => `${n}${'x'.repeat(n % 300)}`);
  await Promise.all(lines.map((line) => audit.write(`${line}\n`)));
  expect(linesOf(file)).toEqual(lines);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
  await audit.close();
});

it('AU-279: by size a new file begins, and the oldest ones go', async () => {
  const audit = sink({ rotation: { bytes: 10, ageMs: 0, files: 2 } });
  for (let n = 0; n < 5; n++) {
    await audit.write(`line ${n}\n`);
    if (n % 2 === 0) await time.pass(1); // of two in one millisecond, neither takes the other's place
  }
  expect(linesOf(file)).toEqual(['line 4']);
  expect(
    names()
      .slice(0, 2)
      .map((name) => linesOf(path.join(path.dirname(file), name))),
  ).toEqual([['line 2'], ['line 3']]);
  expect(names()).toHaveLength(3);
  await audit.close();
});

it('AU-279: by age too', async () => {
  const audit = sink({ rotation: { bytes: 0, ageMs: 1_000, files: 0 } });
  await audit.write('one\n');
  await time.pass(999);
  await audit.write('two\n');
  await time.pass(1);
  await audit.write('three\n');
  expect(linesOf(file)).toEqual(['three']);
  expect(names()).toHaveLength(2);
  await audit.close();
});

it('AU-279: a file that was moved away is begun anew when it is told so', async () => {
  const audit = sink();
  await audit.write('one\n');
  renameSync(file, `${file}.1`);
  await audit.write('two\n');
  await audit.reopen();
  await audit.write('three\n');
  expect([linesOf(`${file}.1`), linesOf(file)]).toEqual([['one', 'two'], ['three']]);
  await audit.close();
});

it('AU-278: on a full disk each line is refused, and taken again once there is room', async () => {
  const audit = sink();
  await audit.open();
  rmSync(file);
  symlinkSync('/dev/full', file);
  await audit.reopen();
  const both = await Promise.allSettled([audit.write('one\n'), audit.write('two\n')]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  rmSync(file);
  await audit.reopen();
  await audit.write('three\n');
  expect(linesOf(file)).toEqual(['three']);
  await audit.close();
});

it('more lines than there is memory for are refused at once', async () => {
  const audit = sink();
  const all = Array.from({ length: MAX_WAITING + 600 }, () =>
    audit.write('x\n').then(
      () => 1,
      () => 0,
    ),
  );
  const taken = (await Promise.all(all)).filter(Boolean).length;
  expect(taken).toBeLessThan(all.length);
  expect(linesOf(file)).toHaveLength(taken);
  await audit.close();
});
