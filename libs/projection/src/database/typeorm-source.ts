import type { Logger } from '@waybill/telemetry';
import type { DataSource } from 'typeorm';

/**
 * The schema as TypeORM sees it, not initialised yet: for tools and rare reads. TypeORM is loaded only here, as a service
 * that needs no migration can do without it.
 */
export async function typeOrmSource(url: string, logger?: Logger): Promise<DataSource> {
  const { dataSource } = await import('./data-source.js');
  return dataSource(url, logger);
}
