import { send } from './client.js';

/** Saves an answer of the API as a file. A link cannot carry the token, so the page fetches the bytes. @throws ApiFailure */
export async function download(path: string, name: string): Promise<void> {
  const address = URL.createObjectURL(await (await send('GET', path)).blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
