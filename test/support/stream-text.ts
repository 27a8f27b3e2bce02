/**
 * Reads a streamed answer as text until `enough` says so, and closes it.
 * @throws if the answer ends before. An ended stream answers each further read at once, so a loop of reads would never
 * let a timer fire.
 */
export async function textUntil(
  body: AsyncIterable<Uint8Array> | null,
  enough: (text: string) => boolean,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (enough(text)) return text;
  }
  throw new Error(`the answer ended after: ${text.slice(-500)}`);
}
