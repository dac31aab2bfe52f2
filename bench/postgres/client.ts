import pg from 'pg'

/** A connection of its own, which ends afterwards. */
export async function withClient<Result>(
  address: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
