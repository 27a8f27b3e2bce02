import { NotHolderError, Refusal, type RefusalCode } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { codeBehind, failing, joinedFailures, VolumeStepError } from './errors.js';

const refused = (code: RefusalCode, message = 'no'): Refusal => new Refusal(code, message);

describe('the error of a failed step', () => {
  it.each<[RefusalCode, unknown]>([
    ['not-found', refused('not-found')],
    ['invalid', refused('invalid')],
    ['conflict', refused('conflict')],
    ['forbidden', new VolumeStepError('no', 'forbidden')],
    ['internal', refused('unavailable')],
    ['internal', new VolumeStepError('no')],
    ['internal', new Error('not-found')],
    ['internal', 'not-found'],
  ])('VL-133: has the code %s of its cause, but one machine out of reach is not the whole request', (code, error) => {
    expect(codeBehind(error)).toBe(code);
    expect(() => failing('attach: ')(error)).toThrow(
      expect.objectContaining({ code, message: `attach: ${error instanceof Error ? error.message : String(error)}` }),
    );
  });

  it('VL-303: the end of the term passes unchanged', () => {
    const over = new NotHolderError();
    expect(() => failing('attach: ')(over)).toThrow(over);
  });

  it.each<[RefusalCode, RefusalCode[]]>([
    ['not-found', ['not-found']],
    ['conflict', ['conflict', 'conflict']],
    ['internal', ['conflict', 'not-found']],
    ['internal', ['unavailable', 'unavailable']],
  ])('VL-40: several failures are one error, %s for %j', (code, codes) => {
    const joined = joinedFailures(codes.map((one, at) => refused(one, `failure ${at}`)));
    expect(joined.code).toBe(code);
    for (const at of codes.keys()) expect(joined.message).toContain(`failure ${at}`);
  });
});
