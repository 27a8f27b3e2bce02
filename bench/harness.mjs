// What every benchmark is given: repeated measuring with warm-up, the median, goals, ratios, and clean-up in reverse order.
// Pure but for the clock that comes in.

/**
 * @typedef {{ atLeast: number } | { below: number }} Goal
 * @typedef {{ name: string, unit: string, value: number, low: number, high: number, runs: number, goal?: Goal }} Metric
 * @typedef {{ name: string, value: number, of: string, to: string }} Ratio
 * @typedef {{ runs?: number, warmups?: number, unit?: string, goal?: Goal }} MeasureOptions
 * @typedef {{ describe: string, run: (ctx: Bench) => Promise<void> | void }} Benchmark
 */

/** Runs of one measurement unless the benchmark says otherwise; odd, so that the median is one of them. */
export const DEFAULT_RUNS = 5;
/** Runs before these whose figures are thrown away: compilation, caches, connections. */
export const DEFAULT_WARMUPS = 1;
/** No measurement takes more runs than this, whatever is asked for. */
export const MAX_RUNS = 1000;

/**
 * Middle value; the mean of the two middle ones for an even count.
 *
 * @param {readonly number[]} values
 * @throws {RangeError} for no values
 */
export function median(values) {
  return percentile(values, 50);
}

/**
 * Percentile with linear interpolation between neighbours.
 *
 * @param {readonly number[]} values
 * @param {number} percent 0 to 100
 * @throws {RangeError} for no values
 */
export function percentile(values, percent) {
  if (values.length === 0) throw new RangeError('no values to take a percentile of');
  const sorted = [...values].toSorted((a, b) => a - b);
  const at = (percent / 100) * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}

/** @param {Metric} metric @returns {boolean | undefined} undefined: it has no goal */
export function goalMet({ value, goal }) {
  if (goal === undefined) return undefined;
  return 'atLeast' in goal ? value >= goal.atLeast : value < goal.below;
}

/**
 * Collects the figures of one benchmark. A benchmark that throws has no figures: nothing half-measured is reported.
 */
export class Bench {
  /** @type {Metric[]} */
  metrics = [];
  /** @type {Ratio[]} */
  ratios = [];
  /** @type {string[]} */
  notes = [];
  /** @type {(() => unknown)[]} */
  #cleanups = [];
  #nowMs;
  #log;
  #runsOverride;

  /**
   * @param {object} given
   * @param {() => number} given.nowMs monotonic clock in milliseconds
   * @param {(line: string) => void} given.log progress, for a person
   * @param {number} [given.runs] overrides the number of runs of every measurement
   */
  constructor({ nowMs, log, runs }) {
    this.#nowMs = nowMs;
    this.#log = log;
    this.#runsOverride = runs;
  }

  /** Says what is going on, to the person who waits. @param {string} line */
  log(line) {
    this.#log(line);
  }

  /** How long a step takes, in milliseconds. @param {() => unknown} step @returns {Promise<number>} */
  async time(step) {
    const started = this.#nowMs();
    await step();
    return this.#nowMs() - started;
  }

  /**
   * Runs `sample` until the warm-ups and the counted runs are done and records the median of the numbers it returns.
   *
   * @param {string} name as in the JSON output, unit at its end (`takeoverMs`)
   * @param {MeasureOptions} options
   * @param {(run: number) => Promise<number> | number} sample gets the number of the run, negative while warming up
   * @returns {Promise<number>} the median
   */
  async measure(name, options, sample) {
    const runs = Math.min(MAX_RUNS, this.#runsOverride ?? options.runs ?? DEFAULT_RUNS);
    const warmups = options.warmups ?? DEFAULT_WARMUPS;
    const values = [];
    for (let run = -warmups; run < runs; run += 1) {
      const value = finite(name, await sample(run));
      this.#log(
        `${name} ${run < 0 ? 'warm-up' : `run ${run + 1}/${runs}`}: ${figure(value)} ${options.unit ?? ''}`.trimEnd(),
      );
      if (run >= 0) values.push(value);
    }
    return this.#record(name, options, values);
  }

  /**
   * Records one figure that the benchmark has worked out itself, for instance a percentile of many samples.
   *
   * @param {string} name
   * @param {number} value
   * @param {{ unit?: string, goal?: Goal }} [options]
   */
  metric(name, value, options = {}) {
    return this.#record(name, options, [finite(name, value)]);
  }

  /**
   * Compares two recorded figures: `of` divided by `to`. Ratios travel between machines, absolute figures do not.
   *
   * @param {string} name
   * @param {string} of name of a metric
   * @param {string} to name of a metric
   */
  ratio(name, of, to) {
    const value = finite(name, this.#valueOf(of) / this.#valueOf(to));
    this.ratios.push({ name, value, of, to });
    return value;
  }

  /** A sentence for the reader of the figures: sizes, settings, what was left out. @param {string} text */
  note(text) {
    this.notes.push(text);
  }

  /** Registers a clean-up; the last registered runs first, also after a failure. @param {() => unknown} step */
  onEnd(step) {
    this.#cleanups.push(step);
  }

  /** Runs every clean-up, also those after one that fails, and then throws the first failure. */
  async end() {
    /** @type {unknown[]} */
    const failures = [];
    for (let step = this.#cleanups.pop(); step !== undefined; step = this.#cleanups.pop()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** @param {string} name @param {{ unit?: string, goal?: Goal }} options @param {number[]} values */
  #record(name, { unit = '', goal }, values) {
    if (this.metrics.some((metric) => metric.name === name)) throw new Error(`metric ${name} is recorded twice`);
    const value = median(values);
    const spread = { low: Math.min(...values), high: Math.max(...values), runs: values.length };
    this.metrics.push({ name, unit, value, ...spread, ...(goal ? { goal } : {}) });
    return value;
  }

  /** @param {string} name */
  #valueOf(name) {
    const metric = this.metrics.find((one) => one.name === name);
    if (metric === undefined) throw new Error(`no metric ${name} is recorded`);
    return metric.value;
  }
}

/**
 * Runs one benchmark to its end, clean-ups included.
 *
 * @param {Benchmark} benchmark
 * @param {Bench} bench
 */
export async function runBenchmark(benchmark, bench) {
  try {
    await benchmark.run(bench);
  } finally {
    await bench.end();
  }
  if (bench.metrics.length === 0) throw new Error('the benchmark recorded no metric');
}

/** @param {string} name @param {number} value */
function finite(name, value) {
  if (!Number.isFinite(value)) throw new Error(`${name} is ${value}, not a figure`);
  return value;
}

/** A figure with as many digits as mean something. @param {number} value */
export function figure(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
