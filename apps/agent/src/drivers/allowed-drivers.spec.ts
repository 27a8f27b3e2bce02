import { expect, it } from 'vitest';
import { isAllowedDriver } from './drivers.service.js';

it('PG-30: an empty list of allowed drivers allows all, and a denied one never runs', () => {
  const runs = (allowed: string[], denied: string[]): string[] =>
    ['docker', 'exec', 'podman'].filter((name) =>
      isAllowedDriver(name, { WAYBILL_DRIVER_ALLOWLIST: allowed, WAYBILL_DRIVER_DENYLIST: denied }),
    );
  expect(runs([], [])).toEqual(['docker', 'exec', 'podman']);
  expect(runs(['exec', 'podman'], [])).toEqual(['exec', 'podman']);
  expect(runs(['exec', 'podman'], ['exec'])).toEqual(['podman']);
  expect(runs([], ['docker'])).toEqual(['exec', 'podman']);
});
