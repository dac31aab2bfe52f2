import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { leaderships } from '../../../../src/core/diagnostics.ts'
import { isVelvetRopeError, Shaper } from '../../../../src/index.ts'
import { hostNow } from '../host-time.ts'

/** What the parent asks of this process, a line each; `line` names a line, of which a process may have many. */
export type Wish =
  | { readonly do: 'open'; readonly line: string; readonly address: string; readonly limit: string }
  | {
      readonly do: 'work'
      readonly line: string
      readonly hangs: boolean
      readonly scheduler: boolean
      readonly leaseMs?: number
    }
  | { readonly do: 'schedule'; readonly line: string }
  | { readonly do: 'enqueue'; readonly line: string; readonly id: string }
  /** Keys with jobs of these costs, so many of each, all together. */
  | { readonly do: 'burst'; readonly line: string; readonly costs: readonly number[]; readonly jobs: number }
  | { readonly do: 'freeze'; readonly line: string; readonly forMs: number }
  | { readonly do: 'acquire'; readonly line: string; readonly id: string }
  /** So many clients of one line, each with connections of its own: a producer and a worker. */
  | {
      readonly do: 'crowd'
      readonly line: string
      readonly address: string
      readonly limit: string
      readonly clients: number
    }
  /** Each client of the crowd enqueues one job for a key of its own, and tries again until the line is there. */
  | { readonly do: 'crowd enqueues'; readonly line: string }
  /** A line that is done with would take time from the others. */
  | { readonly do: 'close'; readonly line: string }

/** What this process says. `done`: the wish with this number is fulfilled. Times are of the host's clock. */
export type Saying =
  | {
      readonly said: 'started' | 'went on' | 'queued'
      readonly line: string
      readonly id: string
      readonly at: number
    }
  /** This process is, or is not any more, the elected scheduler of the line. */
  | { readonly said: 'leads' | 'follows'; readonly line: string; readonly at: number }
  | { readonly said: 'done'; readonly wish: number }
  | { readonly said: 'failed'; readonly wish: number; readonly why: string }

const KEY = 'k'
/** How long a client of a crowd leaves the line alone after it was not there; milliseconds. */
const CROWD_PAUSE_MS = 50
const crowds = new Map<string, readonly Shaper[]>()
const shapers = new Map<string, Shaper>()
const say = (saying: Saying) => console.log(JSON.stringify(saying))

leaderships.subscribe(({ shaper, isLeader }) =>
  say({ said: isLeader ? 'leads' : 'follows', line: shaper, at: hostNow() }),
)

function clientOf({ line, limit, address }: Wish & { do: 'open' | 'crowd' }): Shaper {
  const shaper = new Shaper(line, { limits: { '*': limit }, connection: address })
  // An outage is what is measured here.
  shaper.on('error', () => undefined)
  shaper.on('admitted', ({ id }) => say({ said: 'queued', line, id, at: hostNow() }))
  return shaper
}

const start = (line: string, id: string) => say({ said: 'started', line, id, at: hostNow() })

async function fulfil(wish: Wish): Promise<void> {
  const { line } = wish
  if (wish.do === 'open') {
    const shaper = clientOf(wish)
    shapers.set(line, shaper)
    return shaper.ready()
  }
  if (wish.do === 'crowd') {
    const crowd = Array.from({ length: wish.clients }, () => clientOf(wish))
    crowds.set(line, crowd)
    for (const client of crowd) client.work(({ id }) => start(line, id))
    await Promise.all(crowd.map((client) => client.ready()))
    return
  }
  if (wish.do === 'crowd enqueues') {
    await Promise.all(crowds.get(line)!.map(enqueueWhenThere))
    return
  }
  if (wish.do === 'close') {
    await shapers.get(line)?.close()
    shapers.delete(line)
    return
  }
  const shaper = shapers.get(line)!
  switch (wish.do) {
    case 'work':
      shaper.work(
        async ({ id }) => {
          start(line, id)
          if (wish.hangs) await new Promise(() => undefined)
        },
        { scheduler: wish.scheduler, ...(wish.leaseMs !== undefined && { leaseMs: wish.leaseMs }) },
      )
      return
    case 'schedule':
      shaper.schedule()
      return
    case 'enqueue':
      return enqueue(shaper, wish.id)
    case 'burst':
      await shaper.enqueueMany(
        wish.costs.flatMap((cost) =>
          Array.from({ length: wish.jobs }, (_, n) => {
            const key = `busy-${cost}`
            return { key, data: {}, id: `${key}-${n}`, cost }
          }),
        ),
      )
      return
    case 'freeze':
      return shaper.freeze(KEY, wish.forMs)
    case 'acquire':
      // It is answered when the turn comes, which it prints then.
      void shaper.acquire(KEY).then(
        () => say({ said: 'went on', line, id: wish.id, at: hostNow() }),
        () => undefined,
      )
      return
  }
}

async function enqueue(shaper: Shaper, id: string, key = KEY): Promise<void> {
  const admission = await shaper.enqueue(key, {}, { id })
  if (!admission.accepted) throw new Error(`expected room for ${id}, got: ${admission.reason}`)
}

async function enqueueWhenThere(client: Shaper): Promise<void> {
  const id = randomUUID()
  for (;;) {
    try {
      return await enqueue(client, id, id)
    } catch (error) {
      if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
      await sleep(CROWD_PAUSE_MS)
    }
  }
}

let wishes = 0
for await (const text of createInterface({ input: process.stdin })) {
  const wish = wishes++
  void fulfil(JSON.parse(text)).then(
    () => say({ said: 'done', wish }),
    (error: unknown) => say({ said: 'failed', wish, why: String(error) }),
  )
}
// The parent is gone.
process.exit()
