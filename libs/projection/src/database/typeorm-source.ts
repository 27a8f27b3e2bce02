import type { Logger } from '@waybill/telemetry';
import type { DataSource } from 'typeorm';

/**
 * Returns the schema for TypeORM, not initialised, for tools and rare reads. Only this file loads TypeORM, because a
 * service without migrations does not need it.
 */
export async function typeOrmSource(url: string, logger?: Logger): Promise<DataSource> {
  const { dataSource } = await import('./data-source.js');
  return dataSource(url, logger);
}
