import { launch } from './launcher.js';
import { readOptions } from './options.js';

process.exitCode = await launch(readOptions(process.argv.slice(2)));
