import { MAX_DRIVER_SCHEMA_CHARS } from '@waybill/model';
import { ConfigSchema } from '@waybill/plugins';
import { silentLogger } from '@waybill/telemetry';
import { expect, it, vi } from 'vitest';
import { TaskConfigSchema } from './task-config-schema.js';

/** A schema with one text of that name. */
const withText = (name: string): ConfigSchema =>
  ConfigSchema.fromText(JSON.stringify({ object: { attributes: { [name]: { Attr: { type: 'string' } } } } }));

it('PG-47: a schema that is too long is not reported, and logged once', async () => {
  const warn = vi.spyOn(silentLogger, 'warn');
  let [schema, changes] = [withText('short'), 0];
  const known = new TaskConfigSchema({
    driver: 'd',
    ask: () => Promise.resolve(schema),
    changed: () => changes++,
    logger: silentLogger,
  });
  expect(known.reported).toBe('');
  await known.refresh();
  expect(JSON.parse(known.reported)).toMatchObject({ object: { attributes: { short: { Attr: { type: 'string' } } } } });
  await known.refresh();
  expect(changes).toBe(1);
  schema = withText('x'.repeat(MAX_DRIVER_SCHEMA_CHARS));
  await known.refresh();
  await known.refresh();
  expect([known.reported, changes, warn.mock.calls.length]).toEqual(['', 2, 1]);
  warn.mockRestore();
});
