/** Fetches from the library's own archive, not from the network. */
export async function fetch(shelfmark: string): Promise<string> {
  return `archive:${shelfmark}`;
}
