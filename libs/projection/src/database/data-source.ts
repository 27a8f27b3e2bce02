import { type Logger, silentLogger } from '@waybill/telemetry';
import { DataSource } from 'typeorm';
import { entities } from './entities.js';
import { migrations, MIGRATIONS_TABLE } from '../migrations/index.js';
import { CONNECT_TIMEOUT_MS } from './pool.js';
import { StatementLogger } from './statement-logger.js';

/** The schema for TypeORM, for migrations and rare reads. Not initialised yet. */
export function dataSource(url: string, logger: Logger = silentLogger): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    entities: [...entities],
    migrations,
    migrationsTableName: MIGRATIONS_TABLE,
    logger: new StatementLogger(logger),
    logging: ['error', 'warn', 'migration'],
    applicationName: 'waybill schema',
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
  });
}
