import { formatLimit } from '../../core/limit-format.ts'
import { toError } from '../../core/thrown.ts'
import { Shaper } from '../../shaper/shaper.ts'
import { type Recording, recordHistory } from '../../testing/record-history.ts'
import { DemoRedis } from './demo-redis.ts'
import { type Errand, type Report, readOrder } from './messages.ts'

/** The role of a demo process. */
export interface Role {
  /** Resolves when everything is warm. */
  prepare(shaper: Shaper, errand: Errand): Promise<void>
  start(): Promise<void>
}

/** Sends a message to the parent, which may be gone. */
export function report(message: Report): void {
  if (process.connected) process.send!(message)
}

export function reportError(thrown: unknown): void {
  report({ say: 'error', message: toError(thrown).message })
}

/** Plays a role at the parent's commands, and ends when the connection to the parent ends. */
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
  // A terminal sends it to the whole process group, and the parent decides.
  process.on('SIGINT', () => {})
}

/** The parent was stopped. The others end at once; their earlier messages have arrived a second later. */
async function sweepLater({ redis, prefix }: Errand): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const client = await DemoRedis.connect(redis)
  await client.sweep(prefix)
  await client.close()
}
