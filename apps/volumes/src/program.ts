import { runService } from '@waybill/service';
import { volumes } from './volumes.module.js';

await runService(volumes);
