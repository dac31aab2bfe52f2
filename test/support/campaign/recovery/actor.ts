import { createInterface } from 'node:readline'
import { leaderships } from '../../../../src/core/diagnostics.ts'
import { Shaper } from '../../../../src/index.ts'
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
const shapers = new Map<string, Shaper>()
const say = (saying: Saying) => console.log(JSON.stringify(saying))

leaderships.subscribe(({ shaper, isLeader }) =>
  say({ said: isLeader ? 'leads' : 'follows', line: shaper, at: hostNow() }),
)

async function fulfil(wish: Wish): Promise<void> {
  const { line } = wish
  if (wish.do === 'open') {
    const shaper = new Shaper(line, {
      limits: { '*': wish.limit },
      connection: wish.address,
    })
    // An outage is what is measured here.
    shaper.on('error', () => undefined)
    shaper.on('admitted', ({ id }) => say({ said: 'queued', line, id, at: hostNow() }))
    shapers.set(line, shaper)
    return shaper.ready()
  }
  const shaper = shapers.get(line)!
  switch (wish.do) {
    case 'work':
      shaper.work(
        async ({ id }) => {
          say({ said: 'started', line, id, at: hostNow() })
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
    case 'close':
      shapers.delete(line)
      return shaper.close()
  }
}

async function enqueue(shaper: Shaper, id: string): Promise<void> {
  const admission = await shaper.enqueue(KEY, {}, { id })
  if (!admission.accepted) throw new Error(`expected room for ${id}, got: ${admission.reason}`)
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
