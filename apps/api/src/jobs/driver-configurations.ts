import { type Clock, type Job, regionsOf } from '@waybill/model';
import { builtInConfigFaults, type ConfigFault, ConfigSchema, isBuiltIn } from '@waybill/plugins';
import { MAX_DRIVER_SCHEMAS } from '@waybill/projection';

/** The most faults of one job that an answer names. */
const MAX_FAULTS = 20;
/** The largest number of a job's drivers that are plugins and whose schemas are read. Tasks of further ones are not compared. */
const MAX_PLUGINS_OF_JOB = 16;
/** The time for which the reported schemas of a driver accept jobs without another read. */
const REMEMBER_MS = 5_000;
/** The largest number of drivers whose schemas are remembered. */
const MAX_DRIVERS = 64;

/** TaskConfigFault is a fault of a task's `config` block, as the API shows it. */
export interface TaskConfigFault {
  readonly TaskGroup: string;
  readonly Task: string;
  readonly Driver: string;
  /** The keys and the positions in lists that lead to the wrong value. */
  readonly Path: readonly string[];
  readonly Message: string;
}

/** DriverSchemaLookup reads the schemas that machines report for a driver. Undefined stands for none (PG-47). */
export interface DriverSchemaLookup {
  driverSchemas(driver: string): Promise<readonly (string | undefined)[]>;
}

interface KnownSchemas {
  readonly atMs: number;
  readonly schemas: Promise<ReportedSchemas>;
  isUnderWay: boolean;
}

/** Undefined says that a machine may accept anything: its schema is not known. */
type ReportedSchemas = readonly ConfigSchema[] | undefined;

/**
 * DriverConfigurations compares the `config` blocks of a job's tasks with the schemas of their drivers (PG-42).
 *
 * A built-in driver's schema is known here. A plugin's is what machines report: a job is refused only if every machine
 * that has the driver would refuse it, so a driver that no machine has refuses nothing. A plugin may replace a built-in
 * driver, so machines are asked, too, before a built-in driver refuses. Machines of other regions are not known here, so
 * a job of several regions is compared with built-in drivers only. A task without a configuration is not compared:
 * clients of the reference register such jobs, and its machine fails the task.
 *
 * Reported schemas are remembered for REMEMBER_MS to accept jobs; before a refusal they are read again. Limits:
 * MAX_FAULTS, MAX_DRIVERS, MAX_PLUGINS_OF_JOB. Cost: O(size of all configurations), and at most two reads of all nodes
 * for each driver that is a plugin.
 */
export class DriverConfigurations {
  private readonly known = new Map<string, KnownSchemas>();

  constructor(
    private readonly read: DriverSchemaLookup,
    private readonly clock: Clock,
  ) {}

  /** Returns the first MAX_FAULTS faults. Errors of the read are thrown on. */
  async faultsOf(job: Job): Promise<TaskConfigFault[]> {
    const faults: TaskConfigFault[] = [];
    const plugins = new Set<string>();
    for (const group of job.TaskGroups)
      for (const task of group.Tasks) {
        const config = task.Config ?? {};
        if (Object.keys(config).length === 0) continue;
        if (!isBuiltIn(task.Driver)) {
          if (plugins.size === MAX_PLUGINS_OF_JOB && !plugins.has(task.Driver)) continue;
          plugins.add(task.Driver);
        }
        const found = await this.faults(job, task.Driver, config);
        for (const { path, message } of found.slice(0, MAX_FAULTS - faults.length))
          faults.push({ TaskGroup: group.Name, Task: task.Name, Driver: task.Driver, Path: path, Message: message });
        if (faults.length === MAX_FAULTS) return faults;
      }
    return faults;
  }

  private async faults(
    job: Job,
    driver: string,
    config: Readonly<Record<string, unknown>>,
  ): Promise<readonly ConfigFault[]> {
    const builtIn = builtInConfigFaults(driver, config);
    if (builtIn?.length === 0) return [];
    if (regionsOf(job).length > 0) return builtIn ?? [];
    for (const isFresh of [false, true]) {
      const schemas = await this.schemasOf(driver, isFresh);
      if (!schemas) return [];
      const refused = schemas.map((schema) => faultsBy(schema, config));
      if (refused.some((faults) => faults.length === 0)) return [];
      const [fewest] = [...refused, ...(builtIn ? [builtIn] : [])].toSorted((a, b) => a.length - b.length);
      if (!fewest || isFresh) return fewest ?? [];
    }
    return [];
  }

  private schemasOf(driver: string, isFresh: boolean): Promise<ReportedSchemas> {
    const nowMs = this.clock.nowMs();
    const last = this.known.get(driver);
    // A read under way counts as fresh, so a flood of refused jobs makes one read at a time.
    if (last && (last.isUnderWay || (!isFresh && nowMs - last.atMs <= REMEMBER_MS))) return last.schemas;
    const schemas = this.read.driverSchemas(driver).then((reported) => parsedSchemas(reported, isBuiltIn(driver)));
    const known: KnownSchemas = { atMs: nowMs, schemas, isUnderWay: true };
    this.known.delete(driver);
    this.known.set(driver, known);
    schemas.then(
      () => (known.isUnderWay = false),
      () => this.known.delete(driver),
    );
    for (const oldest of this.known.keys()) {
      if (this.known.size <= MAX_DRIVERS) break;
      this.known.delete(oldest);
    }
    return schemas;
  }
}

/**
 * Parses the schemas of all machines. Returns undefined if one of them may accept anything. A machine that reports no
 * schema has the built-in driver of that name, or an agent of a release that reports none.
 */
function parsedSchemas(reported: readonly (string | undefined)[], isOfWaybill: boolean): ReportedSchemas {
  if (reported.length > MAX_DRIVER_SCHEMAS) return undefined;
  const texts = isOfWaybill ? reported.filter((text) => text !== undefined) : reported;
  const schemas = texts.map(parsedSchema).filter((schema) => schema !== undefined);
  return schemas.length === texts.length ? schemas : undefined;
}

/** A schema with members of wrong types, which only a hostile machine sends, accepts anything. */
function faultsBy(schema: ConfigSchema, config: Readonly<Record<string, unknown>>): readonly ConfigFault[] {
  try {
    return schema.faultsOf(config);
  } catch {
    return [];
  }
}

/** Returns undefined for a text that is no schema, because machines are not trusted to send one. */
function parsedSchema(text: string | undefined): ConfigSchema | undefined {
  try {
    return text ? ConfigSchema.fromText(text) : undefined;
  } catch {
    return undefined;
  }
}
