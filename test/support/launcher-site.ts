import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort, wipe } from '@waybill/embedded';
import { it } from 'vitest';
import { type ApiClient, shellJob } from './api-client.js';
import {
  GONE_TIMEOUT_MS,
  killProcessesOf,
  Launcher,
  type LauncherOptions,
  nothingRuns,
  processesOf,
  UP_TIMEOUT_MS,
} from './launcher.js';
import { eventually } from './wait.js';

export interface AllocStub {
  ID: string;
  NodeID: string;
  ClientStatus: string;
  CreateIndex: number;
  TaskStates: Record<string, { StartedAt: string }> | null;
}

/** A directory in which a test starts Waybill as a person would, and what still runs there. */
export class LauncherSite {
  readonly parent = mkdtempSync(path.join(tmpdir(), 'waybill-launcher-'));
  /** With a space in it, as people's directories have. */
  readonly dataDir = path.join(this.parent, 'my data');
  private readonly started: Launcher[] = [];

  private constructor(readonly port: number) {
    chmodSync(this.parent, 0o711);
  }

  static async open(): Promise<LauncherSite> {
    return new LauncherSite(await freePort());
  }

  /** Kills what was started here, and removes the directory. @throws when anything but tasks outlives its launcher */
  async close(): Promise<void> {
    for (const launcher of this.started) if (launcher.running) launcher.kill('SIGKILL');
    await this.onlyTasksRun();
    killProcessesOf(this.parent);
    await nothingRuns(this.parent);
    if (existsSync(path.join(this.dataDir, 'version'))) await wipe(this.dataDir).catch(() => undefined);
    rmSync(this.parent, { recursive: true, force: true });
  }

  launch(over: Partial<LauncherOptions> = {}): Launcher {
    const launcher = new Launcher({ port: this.port, dataDir: this.dataDir, ...over });
    this.started.push(launcher);
    return launcher;
  }

  /** Supervisors of tasks, one for each. */
  tasks(): number[] {
    return processesOf(this.dataDir)
      .filter(({ commandLine }) => commandLine.includes('waybill-task'))
      .map(({ pid }) => pid);
  }

  /** Neither launcher nor server nor service: what is left is below a supervisor. */
  onlyTasksRun(): Promise<unknown> {
    return eventually(
      'nothing but tasks is left',
      () =>
        processesOf(this.parent).every(({ commandLine }) => !/nats-server|postgres|dist\/main\.js/.test(commandLine)),
      GONE_TIMEOUT_MS,
    );
  }
}

/** A test with a site of its own, so that two can run at once: a launcher waits as long as it works. */
export const itAtSite = it.extend('site', async ({ onTestFinished }) => {
  const site = await LauncherSite.open();
  onTestFinished(() => site.close());
  return site;
});

/** Allocations of a job of which at least one runs. */
export const runningAllocs = (api: ApiClient, id: string): Promise<AllocStub[]> =>
  eventually(
    `${id} runs`,
    async () => {
      const found = await api.get<AllocStub[]>(`/v1/job/${id}/allocations`);
      return found.some((alloc) => alloc.ClientStatus === 'running') && found;
    },
    UP_TIMEOUT_MS,
  );

/** Registers a job and returns the index it got. */
export async function nextIndex(api: ApiClient, id: string): Promise<number> {
  return (await api.register(shellJob(id, 'exec sleep 600'))).JobModifyIndex;
}
