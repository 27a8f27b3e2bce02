import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds CSI volumes with their claims, their plugins, host volumes, and the claims of task groups on host volumes. */
export class AddVolumes1763715600000 implements MigrationInterface {
  readonly name = 'AddVolumes1763715600000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['csi_volumes', 'csi_plugins', 'host_volumes', 'task_volume'])
      await runner.query(`drop table ${table}`);
  }
}

const TEXT = 'text collate "C" not null';
const ROW = 'create_index bigint not null, modify_index bigint not null, body varchar not null';

const UP = [
  `create table csi_volumes (namespace ${TEXT}, id ${TEXT}, plugin_id ${TEXT}, ${ROW}, primary key (namespace, id))`,
  `create table csi_plugins (id ${TEXT}, ${ROW}, primary key (id))`,
  `create table host_volumes (
     namespace ${TEXT}, id ${TEXT}, name ${TEXT}, node_id ${TEXT}, node_pool ${TEXT}, ${ROW},
     primary key (namespace, id))`,
  `create table task_volume (
     id ${TEXT}, namespace ${TEXT}, job_id ${TEXT}, task_group_name ${TEXT}, volume_name ${TEXT}, ${ROW},
     primary key (id))`,
];
