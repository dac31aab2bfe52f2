import type { Redis } from 'ioredis'
import { z } from 'zod'
import { quote } from '../../core/describe.ts'
import { BackendUnavailableError, UnfitRedisError } from '../../core/errors.ts'
import type { Client } from './client-profiles.ts'
import { asBackendError } from './redis-errors.ts'

/** What Redis keeps when it, or its machine, dies: nothing, all but the last second, or everything that it acknowledged. */
export type StoreDurability = 'none' | 'everysec' | 'always'

/** What kind of Redis was found; of a cluster the weakest of its masters. */
export interface Probe {
  /** The lowest, as `7.2.4`. */
  readonly version: string
  readonly role: 'master'
  readonly durability: StoreDurability
  /** True: Redis did not let us ask how often it syncs its log, and its default is taken. */
  readonly isDurabilityAssumed: boolean
  /** Bytes; the smallest of a cluster's limits. 0: without a limit. */
  readonly maxmemory: number
  readonly policy: 'noeviction'
  /** Changes with each start of the server; those of a cluster sorted and joined by commas. */
  readonly runId: string
  readonly isCluster: boolean
}

/**
 * Asks Redis what it is; a cluster, each of its masters.
 *
 * @throws UnfitRedisError naming what was found and what to change
 * @throws BackendUnavailableError when Redis does not answer
 */
export async function probe(client: Client): Promise<Probe> {
  try {
    const servers = 'nodes' in client ? client.nodes('master') : [client]
    if (servers.length === 0)
      throw new BackendUnavailableError('Redis is unavailable: the cluster has no master')
    return weakest(await Promise.all(servers.map(probeServer)))
  } catch (error) {
    throw asBackendError(error)
  }
}

async function probeServer(server: Redis): Promise<Probe> {
  const [info, appendfsync] = await Promise.all([
    server.info(),
    askAppendfsync(server),
    assertDatabase(server),
  ])
  return readProbe(info, appendfsync)
}

/** Where a database cannot be selected, the client goes on in database 0. */
async function assertDatabase(server: Redis): Promise<void> {
  const { db: wanted = 0 } = server.options
  if (wanted === 0) return
  const found = await ifAllowed(async () => /(?:^| )db=(\d+)/.exec(String(await server.client('INFO')))?.[1])
  if (found === undefined || Number(found) === wanted) return
  throw new UnfitRedisError(`expected a Redis whose database ${wanted} can be selected, got: ${found}`)
}

async function askAppendfsync(server: Redis): Promise<string | undefined> {
  return ifAllowed(async () => configSchema.parse(await server.config('GET', 'appendfsync'))[1])
}

/** Undefined where Redis does not allow the question, as managed services do. */
async function ifAllowed<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await ask()
  } catch (error) {
    const known = asBackendError(error)
    // Not allowed, unknown to the server, or a reply of another form.
    const isRefusal = /^(ERR|NOPERM)\b/.test(messageOfCause(known)) || known instanceof z.ZodError
    if (isRefusal) return undefined
    throw known
  }
}

const configSchema = z.tuple([z.literal('appendfsync'), z.string()])

function messageOfCause(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}

const infoSchema = z.object({
  redis_version: z.string().regex(/^\d+\.\d+/),
  role: z.enum(['master', 'slave']),
  run_id: z.string().min(1),
  aof_enabled: z.enum(['0', '1']).default('0'),
  maxmemory: z.coerce.number().min(0).default(0),
  maxmemory_policy: z.string(),
  cluster_enabled: z.enum(['0', '1']).default('0'),
})

/**
 * Judges one server by what its INFO says.
 *
 * @param appendfsync what its configuration says, if that was to be known
 * @throws UnfitRedisError
 */
export function readProbe(info: string, appendfsync: string | undefined): Probe {
  const fields = Object.fromEntries(
    [...info.matchAll(/^([a-z_]+):(.*?)\r?$/gm)].map(([, name, value]) => [name, value]),
  )
  const result = infoSchema.safeParse(fields)
  if (!result.success) {
    const field = result.error.issues[0]!.path.join('.')
    throw new UnfitRedisError(
      `expected a Redis whose INFO shows its ${field}, got: ${quote(fields[field] ?? '')}`,
    )
  }
  const said = result.data
  if (Number.parseInt(said.redis_version, 10) < 7) {
    throw new UnfitRedisError(`expected Redis 7.0 or newer, got: ${quote(said.redis_version)}`)
  }
  if (said.role !== 'master') {
    throw new UnfitRedisError(
      'expected the master, got: a replica; connect to its master, by sentinels if there are any',
    )
  }
  if (said.maxmemory_policy !== 'noeviction') {
    throw new UnfitRedisError(
      `expected maxmemory-policy noeviction, got: ${quote(said.maxmemory_policy)}, which drops jobs when memory is ` +
        'short; set maxmemory-policy to noeviction',
    )
  }
  const isLogged = said.aof_enabled === '1'
  return {
    version: said.redis_version,
    role: said.role,
    durability: isLogged ? durabilityOf(appendfsync) : 'none',
    isDurabilityAssumed: isLogged && appendfsync === undefined,
    maxmemory: said.maxmemory,
    policy: said.maxmemory_policy,
    runId: said.run_id,
    isCluster: said.cluster_enabled === '1',
  }
}

/** `no` leaves it to the operating system, which syncs every half a minute or so: a promise of nothing. */
function durabilityOf(appendfsync: string | undefined): StoreDurability {
  if (appendfsync === 'always') return 'always'
  return appendfsync === 'no' ? 'none' : 'everysec'
}

const FROM_WEAK_TO_STRONG: readonly StoreDurability[] = ['none', 'everysec', 'always']

function weakest(probes: readonly Probe[]): Probe {
  const limits = probes.map(({ maxmemory }) => maxmemory).filter((bytes) => bytes > 0)
  const durabilities = probes.map(({ durability }) => durability)
  const versions = probes
    .map(({ version }) => version)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  return {
    ...probes[0]!,
    version: versions[0]!,
    durability: FROM_WEAK_TO_STRONG.find((durability) => durabilities.includes(durability))!,
    isDurabilityAssumed: probes.some(({ isDurabilityAssumed }) => isDurabilityAssumed),
    maxmemory: limits.length === 0 ? 0 : Math.min(...limits),
    runId: probes
      .map(({ runId }) => runId)
      .sort()
      .join(','),
  }
}
