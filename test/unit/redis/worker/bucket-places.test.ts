import { expect, test } from 'vitest'
import { BucketPlaces } from '../../../../src/redis/worker/bucket-places.ts'

/** The buckets whose jobs are inside, in the order of entering. */
function placesOf(count: number) {
  const places = new BucketPlaces(count)
  const inside: string[] = []
  const enter = async (...buckets: string[]) => {
    for (const bucket of buckets) void places.take(bucket).then(() => void inside.push(bucket))
    await settled()
  }
  const leave = async (bucket: string) => {
    places.release(bucket)
    await settled()
  }
  return { places, inside, enter, leave }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('many jobs of one bucket share one place, and another bucket finds one', async () => {
  const { inside, enter } = placesOf(2)
  await enter('hot', 'hot', 'hot', 'hot', 'calm', 'hot')
  expect(inside).toEqual(['hot', 'hot', 'hot', 'hot', 'calm', 'hot'])
})

test('a bucket too many waits until the last job of another has left, in the order of asking', async () => {
  const { inside, enter, leave } = placesOf(1)
  await enter('a', 'a', 'b', 'c', 'b')
  await leave('a')
  expect(inside).toEqual(['a', 'a'])
  await leave('a')
  expect(inside).toEqual(['a', 'a', 'b', 'b'])
  await leave('b')
  await leave('b')
  expect(inside).toEqual(['a', 'a', 'b', 'b', 'c'])
})

test('a place that is left by all is free again', async () => {
  const { inside, enter, leave } = placesOf(1)
  await enter('a')
  await leave('a')
  await enter('b', 'a')
  expect(inside).toEqual(['a', 'b'])
})

test('once it is open, all enter', async () => {
  const { places, inside, enter } = placesOf(1)
  await enter('a', 'b', 'c')
  places.open()
  await enter('d')
  expect(inside).toEqual(['a', 'b', 'c', 'd'])
})
