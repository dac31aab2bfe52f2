import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { strayKeys } from '../bounds/key-owners.ts'
import { dice } from '../support/campaign/dice.ts'
import { judge } from '../support/campaign/judge.ts'
import { FAULTS } from './faults.ts'
import { KEEP_FINISHED, KEYS, LIMIT, SoakFleet } from './fleet.ts'
import type { SoakSample } from './plan.ts'

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  /** Called with a line of text about what happens. */
  readonly say: (text: string) => void
}

export interface SoakResult {
  readonly seed: number
  readonly minutes: number
  readonly samples: readonly SoakSample[]
  readonly faults: readonly { readonly at: number; readonly name: string }[]
  /** Before the first fault and after the last, each with the lines drained. */
  readonly before: SoakSample
  readonly after: SoakSample
  /** Live buckets, and keys that nothing would ever remove; after the last. */
  readonly left: { readonly buckets: number; readonly strays: readonly string[] }
  readonly admitted: number
  readonly starts: number
  /** The laws that were broken, as text. */
  readonly breaches: string | undefined
}

const FAULT_EACH_S = 30
const SAMPLE_EACH_S = 5
/** Until every line is full once in the warm-up: tables of Redis grow with what they hold, and stay as large. Milliseconds. */
const FILL_MS = 9_000
/** Jobs of each key that end in the warm-up: more than are kept, however slow the machine. */
const WARM_UP_JOBS = KEEP_FINISHED * 1.5
/** After the last job a bucket is forgotten, and an ended job may be; seconds. */
const SETTLE_S = 14
/** Microseconds that news may take while Redis is away or a process is held up. */
const NEWS = 10_000_000
const DRAIN_MS = 180_000

/**
 * Runs a fleet of processes at 70 % of what its lines let through, with a fault every half minute, and looks at it all the time.
 *
 * @throws where a job did not end, or a process fell out
 */
export async function soak({ minutes, seed, say }: SoakOptions): Promise<SoakResult> {
  const fleet = await SoakFleet.start()
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1_000
  const chance = dice(seed)
  const between = (least: number, most: number) => least + Math.floor(chance() * (most - least + 1))
  const samples: SoakSample[] = []
  const faults: { at: number; name: string }[] = []
  const settled = async () => {
    await fleet.drain(DRAIN_MS)
    await sleep(SETTLE_S * 1_000)
    return fleet.sample(seconds(), true)
  }
  try {
    await fleet.producer.order({ do: 'go on' })
    await warmUp(fleet)
    const before = await settled()
    await fleet.producer.order({ do: 'go on' })

    const until = seconds() + minutes * 60
    const sampling = (async () => {
      while (seconds() < until) {
        samples.push(await fleet.sample(seconds()))
        await sleep(SAMPLE_EACH_S * 1_000)
      }
    })()
    const names = Object.keys(FAULTS)
    // The first as early as in a smoke test; no two the same one after the other.
    let next = seconds() + Math.min(5, minutes * 20)
    while (next < until) {
      await sleep(Math.max(0, next - seconds()) * 1_000)
      const name = names.filter((name) => name !== faults.at(-1)?.name)[
        between(0, names.length - 1 - Math.min(1, faults.length))
      ]!
      faults.push({ at: seconds(), name })
      say(`${seconds().toFixed(0)} s: ${name}`)
      await FAULTS[name]!(fleet, between)
      next += Math.min(FAULT_EACH_S, minutes * 20)
    }
    await sleep(Math.max(0, until - seconds()) * 1_000)
    await sampling

    const after = await settled()
    const { admitted } = await fleet.audit()
    const left = await leftIn(fleet)
    await fleet.close()
    const verdict = judged(fleet.folder)
    if (verdict.breaches === undefined) fleet.remove()
    return { seed, minutes, samples, faults, before, after, left, admitted, ...verdict }
  } catch (error) {
    await fleet.close()
    say(`the records: ${fleet.folder}`)
    throw error
  }
}

/** What the records say. Where a law was broken, the samples are worth looking at all the same. */
function judged(folder: string): Pick<SoakResult, 'starts' | 'breaches'> {
  try {
    const { history } = judge(folder, { keys: KEYS, limit: LIMIT }, { lag: NEWS, settle: NEWS })
    return { starts: history.filter(({ type }) => type === 'start').length, breaches: undefined }
  } catch (error) {
    return { starts: 0, breaches: (error as Error).message }
  }
}

/** Fills every line, and resolves when as many jobs have ended as are kept, and more. */
async function warmUp(fleet: SoakFleet): Promise<void> {
  for (const key of KEYS) await fleet.operator.order({ do: 'freeze', key, forMs: FILL_MS })
  while ((await fleet.audit()).ended < KEYS.length * WARM_UP_JOBS) await sleep(200)
}

async function leftIn({ redis }: SoakFleet): Promise<SoakResult['left']> {
  const client = new Redis(redis.url)
  try {
    const [buckets = ''] = await client.keys('*:buckets')
    const { strays } = await strayKeys(client, () => true)
    return {
      buckets: buckets === '' ? 0 : await client.hlen(buckets),
      strays: strays.map(({ tag, name }) => `${tag}${name}`),
    }
  } finally {
    client.disconnect()
  }
}
