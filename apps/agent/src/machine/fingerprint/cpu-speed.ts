/** CpuFacts holds what a machine shows about its processors. */
export interface CpuFacts {
  /**
   * Speeds per core from the kernel's `cpufreq` and `acpi_cppc`, in the order of the cores' numbers. MHz; 0 if unknown.
   */
  readonly cores: readonly { readonly baseMhz: number; readonly maxMhz: number; readonly nominalMhz: number }[];
  /** Text of `/proc/cpuinfo`. */
  readonly cpuinfo: string;
  /**
   * Returns the registers A to D of a CPUID leaf, or undefined if the processor or the kernel does not show the leaf.
   */
  readonly cpuid: (leaf: number) => readonly [eax: number, ebx: number, ecx: number, edx: number] | undefined;
  /** Tables of the firmware (SMBIOS), one structure after the other. */
  readonly dmi: Uint8Array;
  /** The speed that the operating system reports, in MHz. It is used if none of the other facts is there. */
  readonly osMhz: number;
}

export interface CpuSpeed {
  /** Per core. */
  readonly mhz: readonly number[];
  /** The source of the figure, for people. */
  readonly source: string;
}

/** The assumed speed of a core in MHz if the machine does not show its speed. */
const ASSUMED_MHZ = 1_000;
/** A value outside of these bounds, in MHz, is not a speed but a field that was never filled in. */
const [SLOWEST_MHZ, FASTEST_MHZ] = [100, 10_000];

/**
 * Returns the speed of each core from the best available source. Rated speeds come before maximum speeds, and the
 * kernel's before the processor's. The firmware's come last, because emulated firmware describes a processor that does
 * not exist. Pure.
 */
export function cpuSpeed(facts: CpuFacts): CpuSpeed {
  for (const { source, perCore } of SOURCES) {
    const mhz = perCore(facts).map(Math.round);
    if (mhz.length > 0 && mhz.every((speed) => speed >= SLOWEST_MHZ && speed <= FASTEST_MHZ)) return { mhz, source };
  }
  return { mhz: sameOnAll(facts, ASSUMED_MHZ), source: 'assumed' };
}

const sameOnAll = ({ cores }: CpuFacts, mhz: number): number[] =>
  Array.from({ length: Math.max(1, cores.length) }, () => mhz);

const SOURCES: readonly { readonly source: string; readonly perCore: (facts: CpuFacts) => number[] }[] = [
  { source: 'cpufreq base_frequency', perCore: ({ cores }) => cores.map(({ baseMhz }) => baseMhz) },
  { source: 'cpufreq cpuinfo_max_freq', perCore: ({ cores }) => cores.map(({ maxMhz }) => maxMhz) },
  { source: 'acpi_cppc nominal_freq', perCore: ({ cores }) => cores.map(({ nominalMhz }) => nominalMhz) },
  { source: 'cpuid leaf 0x16', perCore: (facts) => sameOnAll(facts, baseOfCpuid(facts)) },
  { source: 'cpuinfo model name', perCore: (facts) => sameOnAll(facts, ratedInName(facts)) },
  { source: 'cpuid leaf 0x40000010', perCore: (facts) => sameOnAll(facts, tscOfHypervisor(facts)) },
  { source: 'cpuinfo cpu MHz', perCore: (facts) => sameOnAll(facts, runningNow(facts)) },
  { source: 'dmi processor', perCore: (facts) => sameOnAll(facts, speedInDmi(facts.dmi)) },
  { source: 'operating system', perCore: (facts) => sameOnAll(facts, facts.osMhz) },
];

const FREQUENCY_LEAF = 0x16;

const baseOfCpuid = ({ cpuid }: CpuFacts): number => {
  const [last = 0] = cpuid(0) ?? [];
  return last < FREQUENCY_LEAF ? 0 : (cpuid(FREQUENCY_LEAF)?.[0] ?? 0) & 0xffff;
};

const [HYPERVISOR_LEAF, TSC_LEAF] = [0x4000_0000, 0x4000_0010];

/** Hypervisors report the speed of their guest's time-stamp counter in kHz, which is the rated speed. */
const tscOfHypervisor = ({ cpuid }: CpuFacts): number => {
  const [last = 0] = cpuid(HYPERVISOR_LEAF) ?? [];
  return last < TSC_LEAF ? 0 : (cpuid(TSC_LEAF)?.[0] ?? 0) / 1_000;
};

/** Reads the rated speed from a name such as `Intel(R) Xeon(R) Gold 6234 CPU @ 3.30GHz`. */
function ratedInName({ cpuinfo }: CpuFacts): number {
  const [, ghz = '0'] = /^model name\s*:.*@ (\d{1,2}\.\d{1,2})GHz/m.exec(cpuinfo) ?? [];
  return Number(ghz) * 1_000;
}

/**
 * Returns the speed of the fastest core. Without `cpufreq` all cores show the same speed; with it, idle cores show
 * less.
 */
const runningNow = ({ cpuinfo }: CpuFacts): number =>
  Math.max(
    0,
    ...[...cpuinfo.matchAll(/^(?:cpu MHz|clock)\s*:\s*(\d{1,6}(?:\.\d{1,6})?)(?:MHz)?$/gm)].map((m) => Number(m[1])),
  );

/** SMBIOS 7.5: a structure of type 4 has the maximum speed at 14h and the speed at boot at 16h, both in MHz. */
const PROCESSOR_STRUCTURE = 4;
const [MAX_SPEED_AT, CURRENT_SPEED_AT] = [0x14, 0x16];

function speedInDmi(dmi: Uint8Array): number {
  const view = new DataView(dmi.buffer, dmi.byteOffset, dmi.byteLength);
  for (let at = 0; at + 4 <= view.byteLength; at = endOfStructure(view, at)) {
    const [type, length] = [view.getUint8(at), view.getUint8(at + 1)];
    if (length < 4) return 0;
    const hasSpeeds = type === PROCESSOR_STRUCTURE && length >= CURRENT_SPEED_AT + 2 && at + length <= view.byteLength;
    if (hasSpeeds) return view.getUint16(at + CURRENT_SPEED_AT, true) || view.getUint16(at + MAX_SPEED_AT, true);
  }
  return 0;
}

/** The texts of a structure follow its fixed part. An empty text ends them. */
function endOfStructure(view: DataView, at: number): number {
  let end = at + view.getUint8(at + 1);
  while (end + 1 < view.byteLength && view.getUint16(end) !== 0) end++;
  return end + 2;
}
