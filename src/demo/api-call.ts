import type { ApiClient } from './api-client.ts'

/** The API answered 429; it counts that itself. */
export class RefusedError extends Error {}

/** The handler of the demo: sends one message of the account. */
export async function callApi(client: ApiClient, key: string): Promise<void> {
  const status = await client.call(key)
  if (status === 429) throw new RefusedError(`${key}: answered 429`)
  if (status !== 202) throw new Error(`${key}: the API answered ${status}`)
}
