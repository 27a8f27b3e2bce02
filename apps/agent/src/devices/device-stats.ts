import { type DeviceStatsMessage, msOf, type StatObjectMessage, type StatValueMessage } from '@waybill/plugins';
import { rfc3339FromMs } from '@waybill/model';
import type { DeviceGroupStats, StatObject, StatValue } from '@waybill/rpc';

/** Converts the statistics of one group of devices to the API's form (PG-100). */
export const groupStats = ({
  vendor,
  type,
  name,
  instance_stats: instances,
}: DeviceStatsMessage): DeviceGroupStats => ({
  Vendor: vendor,
  Type: type,
  Name: name,
  InstanceStats: Object.fromEntries(
    Object.entries(instances).map(([id, { summary, stats, timestamp }]) => [
      id,
      {
        Summary: summary && statValue(summary),
        Stats: stats && statObject(stats),
        Timestamp: timestamp ? rfc3339FromMs(msOf(timestamp)) : null,
      },
    ]),
  ),
});

const statObject = ({ nested, attributes }: StatObjectMessage): StatObject => ({
  Nested: Object.fromEntries(Object.entries(nested).map(([name, inner]) => [name, statObject(inner)])),
  Attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, statValue(value)])),
});

const statValue = (value: StatValueMessage): StatValue => ({
  FloatNumeratorVal: value.float_numerator_val?.value ?? null,
  FloatDenominatorVal: value.float_denominator_val?.value ?? null,
  IntNumeratorVal: numberOf(value.int_numerator_val?.value),
  IntDenominatorVal: numberOf(value.int_denominator_val?.value),
  StringVal: value.string_val?.value ?? null,
  BoolVal: value.bool_val?.value ?? null,
  Unit: value.unit,
  Desc: value.desc,
});

const numberOf = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
