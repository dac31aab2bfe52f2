import { formatLimit } from '../../core/limit.ts'
import { toError } from '../../core/thrown.ts'
import { Shaper } from '../../shaper/shaper.ts'
import { type Recording, recordHistory } from '../../testing/record-history.ts'
import { DemoRedis } from './demo-redis.ts'
import { type Errand, type Report, readOrder } from './messages.ts'

/** What a process of the demo does. */
export interface Role {
  /** Resolves when everything is warm. */
  prepare(shaper: Shaper, errand: Errand): Promise<void>
  start(): Promise<void>
}

/** Tells the parent, who may be gone. */
export function report(message: Report): void {
  if (process.connected) process.send!(message)
}

export function reportError(thrown: unknown): void {
  report({ say: 'error', message: toError(thrown).message })
}

/** Plays a role as the parent orders, and ends when the parent lets go of it, however that ended. */
export function runChild(role: Role): void {
  let errand: Errand | undefined
  let shaper: Shaper | undefined
  let recording: Recording | undefined
  let isDone = false

  const prepare = async (order: Errand): Promise<void> => {
    errand = order
    const { accounts, redis, prefix } = order
    const limits = Object.fromEntries(accounts.map(({ key, limit }) => [key, formatLimit(limit)]))
    shaper = new Shaper('demo', { limits, connection: redis, prefix }).on('error', reportError)
    recording = recordHistory(shaper)
    await shaper.ready()
    await role.prepare(shaper, order)
    report({ say: 'ready' })
  }
  const stop = async (): Promise<void> => {
    await recording!.audit()
    await shaper!.close()
    isDone = true
    report({ say: 'history', events: [...recording!.history] })
  }
  const leave = async (): Promise<void> => {
    if (!isDone && errand?.isSweeper) await sweepLater(errand)
    process.exit()
  }

  process.on('message', (message) => {
    const order = readOrder(message)
    const work = order.do === 'prepare' ? prepare(order) : order.do === 'start' ? role.start() : stop()
    work.catch(reportError)
  })
  process.on('disconnect', () => void leave().catch(() => process.exit(1)))
  // A terminal sends it to the whole family, and the parent is the one to decide.
  process.on('SIGINT', () => {})
}

/** The parent was stopped half way. The others leave at once; what they had sent before has arrived a second later. */
async function sweepLater({ redis, prefix }: Errand): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const client = await DemoRedis.connect(redis)
  await client.sweep(prefix)
  await client.close()
}
