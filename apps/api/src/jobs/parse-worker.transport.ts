import { parentPort } from 'node:worker_threads';
import { JobspecError, parseJob } from '@waybill/jobspec';
import type { ParseRequest } from './parse-request.js';

/** ParseAnswer is a worker's answer: the job, or the error of the text. */
export type ParseAnswer = { readonly job: unknown } | { readonly refusal: string };

// This is the thread of `JobParser`. It takes one request at a time and answers each once.
parentPort?.on('message', (request: ParseRequest) => parentPort?.postMessage(answerTo(request)));

/**
 * Parses a job file (JS-213): variables come as the text of a file, the server's environment and files are not read,
 * and undeclared variables are ignored.
 */
function answerTo({ JobHCL, Variables, Canonicalize }: ParseRequest): ParseAnswer {
  try {
    const { job } = parseJob({
      file: { name: 'input.hcl', text: JobHCL },
      variableFiles: Variables === '' ? [] : [{ name: 'input.hcl', text: Variables }],
      canonicalise: Canonicalize,
    });
    return { job };
  } catch (error) {
    if (error instanceof JobspecError) return { refusal: error.message };
    throw error;
  }
}
