import { aRequest } from '../http/request.fixture.js';
import { writtenDrafts } from '../written-drafts.fixture.js';
import { defaultSchedulerConfiguration } from '@waybill/model';
import { RpcUnavailableError } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import { readSchedulerConfiguration } from './scheduler-configuration-request.js';
import { SetSchedulerConfiguration } from './set-scheduler-configuration.js';

const read = (body: unknown, query = {}) =>
  readSchedulerConfiguration(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), query);
const requester = Requester.of(aRequest());

describe('a scheduler configuration', () => {
  it('OP-12: what is left out is zero, and the indexes of the body do not count', () => {
    const { config, cas } = read({ NodeLimitForFeasibilityChecks: 7, CreateIndex: 9, ModifyIndex: 9, Unknown: 1 });
    expect(config).toEqual({
      ...defaultSchedulerConfiguration(),
      PreemptionConfig: {
        SystemSchedulerEnabled: false,
        SysBatchSchedulerEnabled: false,
        BatchSchedulerEnabled: false,
        ServiceSchedulerEnabled: false,
      },
      NodeLimitForFeasibilityChecks: 7,
    });
    expect(cas).toBeUndefined();
  });

  it('OP-13: an unknown algorithm, a wrong type, no JSON', () => {
    expect(() => read({ SchedulerAlgorithm: 'x' })).toThrow('invalid scheduler algorithm: x');
    expect(() => read({ RejectJobRegistration: 'true' })).toThrow(/^Error parsing scheduler config: json:/);
    expect(() => read('nope')).toThrow(/^Error parsing scheduler config: /);
  });

  it('OP-14: cas is an unsigned number, also when it is given and empty', () => {
    expect(read({}, { cas: '0' }).cas).toBe(0);
    for (const cas of ['', '-1', 'x', '1e3']) expect(() => read({}, { cas })).toThrow(/^Error parsing cas value: /);
  });

  it('OP-21: a change of the flag is answered when the broker obeys, any other change at once', async () => {
    const asked: number[] = [];
    const set = (result: boolean, enabledAt = async (index: number) => asked.push(index) > 0) =>
      new SetSchedulerConfiguration(
        { schedulerConfiguration: async () => defaultSchedulerConfiguration() },
        writtenDrafts({ first: 8, verdicts: [{ kind: 'accepted', result }] }).writer,
        { enabledAt },
      );
    expect(await set(true).replaceConfiguration(read({ SchedulerAlgorithm: 'spread' }), requester)).toEqual({
      Updated: true,
      Index: 8,
    });
    expect(await set(false).replaceConfiguration(read({ PauseEvalBroker: true }, { cas: '3' }), requester)).toEqual({
      Updated: false,
      Index: 8,
    });
    expect(asked, 'EB-129: what was not applied has no effect').toEqual([]);
    expect(await set(true).replaceConfiguration(read({ PauseEvalBroker: true }), requester)).toEqual({
      Updated: true,
      Index: 8,
    });
    expect(asked).toEqual([8]);
    const nobody = async (): Promise<boolean> => {
      throw new RpcUnavailableError('broker.reached', 'no responder');
    };
    await expect(
      set(true, nobody).replaceConfiguration(read({ PauseEvalBroker: true }), requester),
    ).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('written as index 8') as string,
    });
  });
});
