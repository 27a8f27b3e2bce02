import { DecodeError, parseDuration, type wire } from '@waybill/model';
import { badRequest } from '../http/api-error.js';

/** The field is a duration as text or as nanoseconds. An empty text stands for none (AU-19). */
export const durationField: wire.Field<number> = {
  read: (json, place) => {
    if (typeof json === 'number' && Number.isSafeInteger(json)) return json;
    if (typeof json !== 'string') throw DecodeError.wrongType(json, place, 'time.Duration');
    const ns = json === '' ? 0 : parseDuration(json);
    if (ns === undefined) throw badRequest(`time: invalid duration ${JSON.stringify(json)}`);
    return ns;
  },
  fill: (given) => (typeof given === 'number' ? given : 0),
};
