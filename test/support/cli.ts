import { Interrupts, runProgram } from '@waybill/cli';

/**
 * The command line against a server, in this process, not on a terminal.
 * @param env beside the address
 */
export async function runCli(
  url: string,
  words: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const sink = (take: (text: string) => void) => ({
    isTTY: false,
    write: (text: string | Uint8Array) => {
      take(typeof text === 'string' ? text : Buffer.from(text).toString());
      return true;
    },
    once: () => undefined,
  });
  const code = await runProgram('waybill', words, {
    env: { WAYBILL_ADDR: url, ...env },
    stdout: sink((text) => (out += text)),
    stderr: sink((text) => (err += text)),
    interrupts: new Interrupts(),
  });
  return { code, out, err };
}
