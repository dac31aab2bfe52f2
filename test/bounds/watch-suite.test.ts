import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { RedisStage } from '../conformance/redis-stage.ts'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { checkSuite } from './watch-suite.ts'

test.each([
  ['by the text of its script, as the first one on a server', 0],
  ['by the name of its script, as all others', 1],
])('a reply of a script of more than 1 MiB is found in a call %s', async (_, before) => {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const stage = await RedisStage.open('9, 1/s', { client, connection: connect(server.url) })
  await client.set(shardKey(stage.tag, 'book'), 'x'.repeat(2_000_000))
  await client.script('FLUSH')
  const read = (bytes: number) => stage.backend.store.run(allScripts().get('page')!, 0, ['', 0, bytes, '', 0])
  for (let n = 0; n < before; n++) await read(1)
  await checkSuite()
  await read(1_500_000)
  await expect(checkSuite()).rejects.toThrow('page: 15000')
})
