import type { Sample, Series, Shown } from './series.js';

/** The largest size of one packet in bytes. Every network carries a packet of this size whole. */
export const MAX_PACKET_BYTES = 1_400;

/**
 * Formats the figures for statsd, in packets of at most MAX_PACKET_BYTES. The values of labels become parts of the
 * name, as in the reference. Only the mean of durations is known, so a packet carries the mean with the number of
 * durations (`@`).
 * @param shown counters and samples of one interval
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

/** Replaces characters of a name that have a meaning in the protocol. */
const keyOf = ({ name, labels }: Pick<Series, 'name' | 'labels'>): string =>
  [name, ...Object.values(labels)].map((part) => part.replaceAll(/[\s:|@#]/g, '_')).join('.');
