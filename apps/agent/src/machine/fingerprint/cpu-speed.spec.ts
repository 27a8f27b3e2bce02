import { describe, expect, it } from 'vitest';
import { type CpuFacts, cpuSpeed } from './cpu-speed.js';

const SILENT = { baseMhz: 0, maxMhz: 0, nominalMhz: 0 };
const NOTHING: CpuFacts = {
  cores: [SILENT, SILENT],
  cpuinfo: '',
  cpuid: () => undefined,
  dmi: new Uint8Array(),
  osMhz: 0,
};
const core = (over: Partial<typeof SILENT>) => ({ ...SILENT, ...over });

/** Returns the kernel's text on a virtual machine without `cpufreq`. */
const cpuinfo = (name: string, ...mhz: number[]): string =>
  mhz
    .map(
      (speed, at) =>
        `processor\t: ${at}\nmodel name\t: ${name}\ncpu MHz\t\t: ${speed.toFixed(3)}\ncache size\t: 512 KB\n`,
    )
    .join('\n');

const leaves =
  (of: Record<number, number>): CpuFacts['cpuid'] =>
  (leaf) => {
    const eax = of[leaf];
    return eax === undefined ? undefined : [eax, 0, 0, 0];
  };

/** Returns SMBIOS tables: a BIOS structure with two texts, then a processor of 48 bytes. */
function dmi(current: number, max: number): Uint8Array {
  const bios = [0, 24, 0, 0, ...Array.from({ length: 20 }, () => 0), ...Buffer.from('Maker\0Version\0\0')];
  const cpu = Buffer.alloc(48);
  cpu.set([4, 48]);
  cpu.writeUInt16LE(max, 0x14);
  cpu.writeUInt16LE(current, 0x16);
  return Uint8Array.from([...bios, ...cpu, ...Buffer.from('CPU 0\0\0')]);
}

describe('AG-20: how fast a machine is', () => {
  it('the kernel says the rated speed of each core, the highest where there is none', () => {
    const rated = [core({ baseMhz: 3_200, maxMhz: 5_100 }), core({ baseMhz: 2_400, maxMhz: 3_900 })];
    expect(cpuSpeed({ ...NOTHING, cores: rated })).toEqual({ mhz: [3_200, 2_400], source: 'cpufreq base_frequency' });
    const highest = [core({ maxMhz: 3_500 }), core({ maxMhz: 3_500 })];
    expect(cpuSpeed({ ...NOTHING, cores: highest })).toEqual({
      mhz: [3_500, 3_500],
      source: 'cpufreq cpuinfo_max_freq',
    });
    const nominal = [core({ nominalMhz: 2_600 }), core({ nominalMhz: 2_600 })];
    expect(cpuSpeed({ ...NOTHING, cores: nominal })).toEqual({ mhz: [2_600, 2_600], source: 'acpi_cppc nominal_freq' });
  });

  it('a virtual machine without cpufreq has what /proc/cpuinfo says, and not 1000 MHz', () => {
    const facts = { ...NOTHING, cpuinfo: cpuinfo('AMD EPYC', 2_445.428, 2_445.428) };
    expect(cpuSpeed(facts)).toEqual({ mhz: [2_445, 2_445], source: 'cpuinfo cpu MHz' });
    // On machines with idle cores, the busiest core is the best estimate.
    expect(cpuSpeed({ ...NOTHING, cpuinfo: cpuinfo('AMD EPYC', 800, 2_600) }).mhz).toEqual([2_600, 2_600]);
  });

  it('the rated speed in the name goes before the one of now', () => {
    const facts = { ...NOTHING, cpuinfo: cpuinfo('Intel(R) Xeon(R) Gold 6234 CPU @ 3.30GHz', 3_999.9, 1_200) };
    expect(cpuSpeed(facts)).toEqual({ mhz: [3_300, 3_300], source: 'cpuinfo model name' });
  });

  it('CPUID data where the kernel shows it: the base frequency, or the counter of a hypervisor', () => {
    const base = leaves({ 0: 0x16, 0x16: 2_900 });
    expect(cpuSpeed({ ...NOTHING, cpuid: base })).toEqual({ mhz: [2_900, 2_900], source: 'cpuid leaf 0x16' });
    const tsc = leaves({ 0: 0xd, 0x4000_0000: 0x4000_0010, 0x4000_0010: 2_199_998 });
    expect(cpuSpeed({ ...NOTHING, cpuid: tsc })).toEqual({ mhz: [2_200, 2_200], source: 'cpuid leaf 0x40000010' });
    // For a leaf beyond the last, a processor may answer anything.
    const beyond = leaves({ 0: 0xd, 0x16: 2_900, 0x4000_0000: 0x4000_0001, 0x4000_0010: 2_199_998 });
    expect(cpuSpeed({ ...NOTHING, cpuid: beyond }).source).toBe('assumed');
  });

  it('the firmware is asked last: an emulated one says 2000 whatever the processor is', () => {
    expect(cpuSpeed({ ...NOTHING, dmi: dmi(2_500, 3_500) })).toEqual({ mhz: [2_500, 2_500], source: 'dmi processor' });
    expect(cpuSpeed({ ...NOTHING, dmi: dmi(0, 3_500) }).mhz).toEqual([3_500, 3_500]);
    const emulated = { ...NOTHING, dmi: dmi(2_000, 2_000), cpuinfo: cpuinfo('QEMU Virtual CPU', 3_192, 3_192) };
    expect(cpuSpeed(emulated)).toEqual({ mhz: [3_192, 3_192], source: 'cpuinfo cpu MHz' });
  });

  it('what cannot be a speed is passed over; without any source 1000 MHz are assumed, and said to be', () => {
    expect(cpuSpeed({ ...NOTHING, dmi: dmi(0xffff, 0), osMhz: 2_300 })).toEqual({
      mhz: [2_300, 2_300],
      source: 'operating system',
    });
    expect(cpuSpeed({ ...NOTHING, cores: [core({ baseMhz: 3_000 }), SILENT] }).source).toBe('assumed');
    expect(cpuSpeed(NOTHING)).toEqual({ mhz: [1_000, 1_000], source: 'assumed' });
    for (const torn of [[4], [4, 2, 0, 0], [4, 48, 0, 0, 1, 1], [0, 255, 0, 0, 0, 0]])
      expect(cpuSpeed({ ...NOTHING, dmi: Uint8Array.from(torn) }).source).toBe('assumed');
  });
});
