import { launch } from './launcher.js';
import { readOptions } from './options.js';

const code = await launch(readOptions(process.argv.slice(2)));
process.exit(code); // a timer that somebody forgot must not keep the person waiting
