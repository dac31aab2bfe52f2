import { expect, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { eventually } from '../support/patience.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const HANDLERS = 4
/** More than a worker holds: its handlers, and 64 more. */
const STUCK = 1_000
const QUICK = 20

test.each([1, 2])(
  'beside a segment whose handlers do not end, in 1,000 keys, each job of another starts, with %i workers',
  async (workers) => {
    const options = { limits: { '*': '9, 100/s' }, connection: redisAddress(), prefix: uniquePrefix() }
    const errors: Error[] = []
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const starts = new Map<string, () => void>()
    let stuck = 0
    let ended = 0
    const open = () => {
      const shaper = new Shaper<number, void>('stuck', options)
      shaper.on('error', (error) => void errors.push(error))
      const handler = async ({ key, id }: { key: string; id: string }) => {
        starts.get(id)?.()
        if (!key.startsWith('slow/')) return
        stuck++
        await released
        ended++
      }
      shaper.work(handler, { concurrency: HANDLERS })
      return shaper
    }
    const shapers = Array.from({ length: workers }, open)
    const [producer] = shapers
    const start = async (key: string, id: string) => {
      const started = new Promise<void>((resolve) => void starts.set(id, resolve))
      expect(await producer!.enqueue(key, 1, { id })).toMatchObject({ accepted: true })
      await started
    }
    try {
      // Each worker knows both segments, so it leaves some handlers to each.
      for (let n = 0; n < 2 * workers; n++) await start('quick', `first-${n}`)
      const requests = Array.from({ length: STUCK }, (_, n) => ({ key: `slow/${n}`, data: n, id: `s${n}` }))
      for (let from = 0; from < STUCK; from += 200) {
        await producer!.enqueueMany(requests.slice(from, from + 200))
      }
      for (let n = 0; n < QUICK; n++) await start('quick', `q${n}`)
      expect(stuck).toBeLessThanOrEqual(workers * HANDLERS)
      release()
      await eventually(() => expect(ended).toBe(STUCK))
      const end = { admitted: STUCK + QUICK + 2 * workers, ended: STUCK + QUICK + 2 * workers }
      await eventually(async () => expect(await producer!.audit()).toMatchObject(end))
    } finally {
      release()
      await Promise.all(shapers.map((shaper) => shaper.close({ drainMs: 0 })))
    }
    expect(errors).toEqual([])
  },
)
