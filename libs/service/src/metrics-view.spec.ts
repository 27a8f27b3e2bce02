import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { hostLabels } from './metrics-view.js';
import { readSettings } from './settings.js';

const settings = (env: NodeJS.ProcessEnv) => readSettings({ WAYBILL_NODE_NAME: 'rack-7', ...env }, []);

it('OP-103, OP-105: the label host is the name of the machine, that of the node if wanted, or none', () => {
  expect(hostLabels(settings({}))).toEqual({ host: hostname() });
  expect(hostLabels(settings({ WAYBILL_METRICS_USE_NODE_NAME: 'true' }))).toEqual({ host: 'rack-7' });
  expect(hostLabels(settings({}), 'other')).toEqual({ host: 'other' });
  expect(hostLabels(settings({ WAYBILL_METRICS_DISABLE_HOSTNAME: 'true' }), 'other')).toEqual({});
});
