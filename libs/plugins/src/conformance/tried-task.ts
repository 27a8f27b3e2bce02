import { closeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { TaskConfigMessage } from '../messages.js';
import { makeNamedPipes, type NamedPipe, openBothEnds } from '../named-pipes.js';
import { CheckFault } from './checks.js';

/** The most characters of a task's output that are kept. */
const MAX_OUTPUT_CHARS = 64 * 1024;
const TASK = 'main';
const MEMORY_MB = 64;
const CPU_MHZ = 100;

/** TriedTask is a task of a driver that is being checked: its description, directories and output. */
export class TriedTask {
  private text = '';

  private constructor(
    readonly message: TaskConfigMessage,
    private readonly pipes: readonly NamedPipe[],
  ) {
    for (const { reader } of pipes)
      reader.setEncoding('utf8').on('data', (chunk: string | Buffer) => {
        this.text = (this.text + String(chunk)).slice(-MAX_OUTPUT_CHARS);
      });
  }

  /** Makes the directories and pipes of a task. @param config the `config` block, encoded by the driver's schema */
  static async make(dir: string, name: string, config: Uint8Array): Promise<TriedTask> {
    const allocDir = path.join(dir, name);
    for (const inner of ['alloc/data', 'alloc/logs', 'alloc/tmp', `${TASK}/local`, `${TASK}/secrets`, `${TASK}/tmp`])
      await mkdir(path.join(allocDir, inner), { recursive: true });
    const [stdout, stderr] = [path.join(allocDir, 'alloc/logs/o'), path.join(allocDir, 'alloc/logs/e')];
    await makeNamedPipes([stdout, stderr]);
    const pipes = [stdout, stderr].map((file) => {
      const pipe = openBothEnds(file);
      if (!pipe) throw new CheckFault(`the pipe ${file} cannot be opened`);
      return pipe;
    });
    const allocId = '00000000-0000-4000-8000-000000000001';
    const message: TaskConfigMessage = {
      id: `${allocId}/${TASK}/${name}`,
      name: TASK,
      msgpack_driver_config: config,
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', NOMAD_TASK_NAME: TASK },
      resources: {
        allocated_resources: { cpu: { cpu_shares: CPU_MHZ }, memory: { memory_mb: MEMORY_MB }, networks: [] },
        linux_resources: { cpu_shares: CPU_MHZ, memory_limit_bytes: MEMORY_MB * 1024 * 1024, PercentTicks: 0.01 },
        ports: [],
      },
      alloc_dir: allocDir,
      stdout_path: stdout,
      stderr_path: stderr,
      task_group_name: 'check',
      job_name: 'plugin-check',
      job_id: 'plugin-check',
      namespace: 'default',
      alloc_id: allocId,
    };
    return new TriedTask(message, pipes);
  }

  get id(): string {
    return this.message.id;
  }

  /** What the task has written so far to both of its outputs. */
  get output(): string {
    return this.text;
  }

  close(): void {
    for (const { reader, writer } of this.pipes) {
      reader.destroy();
      closeSync(writer);
    }
  }
}
