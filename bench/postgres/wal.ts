import { z } from 'zod'
import { withClient } from './client.ts'

const rowSchema = z.object({ bytes: z.coerce.number() })

/** The length of the log that a commit waits for, since the server was made. */
export function walBytesOf(address: string): Promise<number> {
  return withClient(address, async (client) => {
    const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes")
    return rowSchema.parse(rows[0]).bytes
  })
}

/** What a server must not have turned off to be faster than at its default. */
export const DURABLE = ['fsync', 'synchronous_commit', 'full_page_writes'] as const

/** @throws when the server would lose what it has said yes to */
export function assertDurable(address: string): Promise<void> {
  return withClient(address, async (client) => {
    for (const setting of DURABLE) {
      const { rows } = await client.query(`SHOW ${setting}`)
      if (rows[0]?.[setting] !== 'on') throw new Error(`expected ${setting} to be on`)
    }
  })
}
