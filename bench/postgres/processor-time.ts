import { readFileSync } from 'node:fs'
import { withClient } from './client.ts'

/** Linux counts processor time in hundredths of a second. */
const TICK_SECONDS = 0.01

/**
 * Seconds of processor time that all processes of the server have used which are there now; connections must not come or
 * go between two readings. Undefined where the system does not tell.
 */
export function postgresSeconds(address: string): Promise<number | undefined> {
  if (process.platform !== 'linux') return Promise.resolve(undefined)
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
    )
    return rows.reduce((total, { pid }) => total + ticksOf(pid), 0) * TICK_SECONDS
  })
}

/** Its name, in brackets, may hold anything; the times in user and kernel mode are the 12th and 13th field behind it. */
function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}
