import { expect, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const KEYS = 80
const text = 'x'.repeat(1_000_000)

test('80 keys whose jobs carry 1 MB start all of them, and a calm key beside them is not held up forever', async () => {
  const connection = redisAddress()
  await using shaper = new Shaper('large', { limits: { '*': '9, 1/s' }, connection, prefix: uniquePrefix() })
  const errors: Error[] = []
  shaper.on('error', (error) => void errors.push(error))
  for (let n = 0; n < KEYS; n++) await shaper.enqueue(`k${n}`, text)
  await shaper.enqueue('calm', 1)
  const sizes: number[] = []
  let onAll: () => void = () => undefined
  const all = new Promise<void>((resolve) => {
    onAll = resolve
  })
  shaper.work(({ data }) => {
    sizes.push(String(data).length)
    if (sizes.length === KEYS + 1) onAll()
  })
  await all
  expect(sizes.toSorted((a, b) => a - b)).toEqual([1, ...Array.from({ length: KEYS }, () => text.length)])
  expect(errors).toEqual([])
})
