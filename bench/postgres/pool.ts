import pg from 'pg'

interface Counted {
  readonly address: string
  readonly onStatement?: () => void
}

/** Ten connections, as a Pool has by default. */
export function openPool({ address, onStatement }: Counted): pg.Pool {
  const pool = new pg.Pool({ connectionString: address })
  if (onStatement === undefined) return pool
  const query = pool.query
  return Object.assign(pool, {
    query(...args: unknown[]) {
      onStatement()
      return Reflect.apply(query, pool, args)
    },
  })
}
