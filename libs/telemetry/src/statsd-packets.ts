import type { Sample, Series, Shown } from './series.js';

/** Bytes of one packet: what every network carries whole. */
export const MAX_PACKET_BYTES = 1_400;

/**
 * What was measured as statsd takes it, in packets of at most MAX_PACKET_BYTES: the values of labels are parts of the name,
 * as the reference has it. Of times only the mean is known, so it is sent for as many as there were (`@`).
 * @param shown counters and samples as of one interval
 */
export function statsdPackets({ gauges, counters, samples }: Shown): string[] {
  const lines = [
    ...gauges.map((one) => `${keyOf(one)}:${one.value}|g`),
    ...counters.map((one) => `${keyOf(one)}:${one.value}|c`),
    ...samples.filter(({ seen }) => seen.count > 0).map(timing),
  ];
  const packets: string[] = [];
  let packet = '';
  for (const line of lines) {
    if (packet !== '' && Buffer.byteLength(packet) + Buffer.byteLength(line) > MAX_PACKET_BYTES) {
      packets.push(packet);
      packet = '';
    }
    packet += `${line}\n`;
  }
  return packet === '' ? packets : [...packets, packet];
}

const timing = (one: Sample): string => {
  const { count, sum } = one.seen;
  const line = `${keyOf(one)}:${sum / count}|ms`;
  return count === 1 ? line : `${line}|@${1 / count}`;
};

/** What means something in the protocol is no part of a name. */
const keyOf = ({ name, labels }: Pick<Series, 'name' | 'labels'>): string =>
  [name, ...Object.values(labels)].map((part) => part.replaceAll(/[\s:|@#]/g, '_')).join('.');
