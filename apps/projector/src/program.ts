import { runService } from '@waybill/service';
import { projector } from './projector.module.js';

await runService(projector);
