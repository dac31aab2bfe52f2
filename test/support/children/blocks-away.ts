import { setTimeout as sleep } from 'node:timers/promises'
import { BlockingClients } from '../../../src/redis/connection/blocking-clients.ts'
import { Connection } from '../../../src/redis/connection/connection.ts'
import { parseConnection } from '../../../src/redis/connection/connection-input.ts'

// Waits for something in a Redis that is not there, and stops to wait between two tries to connect.
const connection = new Connection(parseConnection({ path: '/nowhere/at/all' }), () => undefined)
const made = connection.blocking()
const clients = new BlockingClients({ blocking: () => made } as unknown as Connection)
while (made.status !== 'reconnecting') await sleep(1)
const failed = clients
  .wait(0, 1_000_000, (client) => client.blpop('key', 1))
  .catch((error: Error) => error.message)
clients.stop()
console.log(await failed)
// By then what closing a connection takes is over.
await sleep(1_000)
console.log(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length)
