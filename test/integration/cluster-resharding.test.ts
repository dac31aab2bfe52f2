import { Cluster } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { isVelvetRopeError, Shaper } from '../../src/index.ts'
import { shardTag } from '../../src/redis/scripts/keys.ts'
import { at, request } from '../support/backend-driver.ts'
import { connect, openRedisBackend, viewsOf } from '../support/redis-driver.ts'
import { type RedisCluster, startCluster, uniquePrefix } from '../support/redis-server.ts'
import { SlotMigration } from '../support/slot-migration.ts'

const CAPACITY = 40
const NEVER = Number.POSITIVE_INFINITY
/** So that a migration takes a while, and the keys of the line are anywhere in it. */
const OTHER_KEYS = 20_000

async function openLine(cluster: RedisCluster, limits: Record<string, string>) {
  const client = new Cluster([...cluster.nodes])
  const prefix = uniquePrefix()
  const shaper = new Shaper('calls', { limits, connection: client, prefix })
  onTestFinished(async () => {
    await shaper.close()
    client.disconnect()
  })
  shaper.on('error', () => undefined)
  await shaper.ready()
  const tag = shardTag(prefix, 'calls', 0)
  return { client, shaper, tag }
}

/** What came of it: an answer, or that the line cannot be reached now; anything else fails the test. */
async function answerOf<Answer>(asked: Promise<Answer>): Promise<Answer | 'unavailable'> {
  try {
    return await asked
  } catch (error) {
    if (isVelvetRopeError(error, 'backend-unavailable')) return 'unavailable'
    throw error
  }
}

test('a full line admits no job and forgets none at any step of the migration of its slot', async () => {
  await using cluster = await startCluster()
  const client = new Cluster([...cluster.nodes])
  onTestFinished(() => client.disconnect())
  const backend = await openRedisBackend({
    limits: { '*': `${CAPACITY}, 10/s` },
    connection: connect(client),
  })
  const views = viewsOf(backend)
  const [tag] = backend.store.tags
  const admit = async (id: string) => {
    const admitted = await answerOf(backend.verbs.admit({ ...request(id), deadline: NEVER }, at(0)))
    return admitted === 'unavailable' ? admitted : admitted.admission.accepted
  }
  await backend.verbs.pause('a', at(0))
  const ids = Array.from({ length: CAPACITY }, (_, n) => `job${n}`)
  for (const id of ids) expect(await admit(id)).toBe(true)
  using migration = await SlotMigration.begin(cluster, tag!)
  const names = (await migration.left(1_000)).sort()
  expect(names).toContain(`${tag}:meta`)

  for (let moved = 0; moved <= names.length; moved++) {
    expect([moved, await admit('one too many')]).not.toEqual([moved, true])
    await migration.move(names.slice(moved, moved + 1))
  }
  expect(await answerOf(views.job(ids[0]!))).toBeDefined()
  await migration.finish()

  expect(await admit('one too many')).toBe(false)
  for (const id of ids) expect(await views.job(id)).toMatchObject({ state: 'waiting' })
  expect(await views.audit()).toMatchObject({ admitted: CAPACITY, waiting: CAPACITY, ended: 0 })
  // The first key that a script names never exists: that is what makes Redis refuse it meanwhile.
  expect(await client.exists(tag!)).toBe(0)
})

test('a line at work keeps every job, its bound and its spacing while 20,000 keys of its slot move', async () => {
  const limits = { '*': `${CAPACITY}, 50/s` }
  await using cluster = await startCluster()
  const { client, shaper, tag } = await openLine(cluster, limits)
  const filler = Array.from({ length: OTHER_KEYS }, (_, n) => [`${tag}:filler:${n}`, 'x'])
  for (let at = 0; at < filler.length; at += 1_000) await client.mset(filler.slice(at, at + 1_000).flat())
  const starts: { readonly id: string; readonly at: number }[] = []
  const ended = new Set<string>()
  shaper.on('completed', ({ id }) => void ended.add(id))
  shaper.work(({ id, departedAt }) => void starts.push({ id, at: departedAt }))
  const accepted = new Set<string>()
  let isOver = false
  const producing = (async () => {
    for (let n = 0; !isOver; n++) {
      const verdict = await answerOf(shaper.enqueue('acme', n))
      if (verdict === 'unavailable') continue
      expect(verdict.waiting).toBeLessThanOrEqual(CAPACITY)
      if (verdict.accepted) accepted.add(verdict.id)
      else await new Promise((resolve) => setTimeout(resolve, verdict.retryAfterMs))
    }
  })()
  await until(() => ended.size >= 20)

  using migration = await SlotMigration.begin(cluster, tag)
  const before = accepted.size
  await migration.finish(250)
  await until(() => accepted.size > before + CAPACITY)
  isOver = true
  await producing
  await until(() => [...accepted].every((id) => ended.has(id)))

  const { admitted, ...others } = await shaper.audit()
  expect(others).toEqual({ waiting: 0, handed: 0, running: 0, retrying: 0, ended: admitted })
  starts.sort((a, b) => a.at - b.at)
  const gaps = starts.slice(1).map(({ at }, index) => at - starts[index]!.at)
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(20 - 5 - 0.001)
  expect(new Set(starts.map(({ id }) => id)).size).toBe(admitted)
})

/** What is waited for comes as events of several kinds. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 20))
}
