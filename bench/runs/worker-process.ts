import { Shaper } from '../../src/index.ts'

export interface RunOrder {
  readonly limits: Readonly<Record<string, string>>
  readonly connection: string
}

/** When a handler's first statement ran; milliseconds since the epoch. */
export type RunStart = number

const CONCURRENCY = 500
const SENT_EACH_MS = 200

const { limits, connection } = JSON.parse(process.argv[2]!) as RunOrder
const shaper = new Shaper<null>('runs', { limits, connection })
shaper.on('error', (error) => console.error(error.message))
await shaper.ready()
const seen: RunStart[] = []
shaper.work(() => void seen.push(performance.timeOrigin + performance.now()), { concurrency: CONCURRENCY })
setInterval(() => process.send!(seen.splice(0)), SENT_EACH_MS)
process.send!('ready')
