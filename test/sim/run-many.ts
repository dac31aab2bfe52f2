import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileTests } from '../support/compile-tests.ts'
import { Tally } from './report/tally.ts'
import type { SeedReport } from './run-seeds.ts'
import type { Order } from './worker.ts'

export interface ManyOptions {
  readonly from: number
  readonly seeds: number
  readonly minutes: number
  readonly processes: number
  readonly folder: string
  /** The first failure ends the run, and is not made smaller. */
  readonly stopsAtFirst: boolean
}

/** Seeds that a process is given at once. */
const CHUNK = 25
/**
 * A run makes little that lasts: with more room for what is new, less of it is moved. Functions are compiled at once, optimized later
 * and never compiled again: a long run spends a fifth of its time on that otherwise.
 */
const FLAGS = [
  '--max-semi-space-size=64',
  '--always-sparkplug',
  '--interrupt-budget=400000',
  '--no-flush-bytecode',
]
/** How often the progress is shown; milliseconds. */
const SHOW_EVERY = 10_000
/** Beyond so many failures each is only counted. */
const MOST_SHRUNK = 20
/** Fewer seeds than that are run before the sources are compiled. */
const FEW = 100

interface Worker {
  readonly path: string
  readonly flags: readonly string[]
  remove(): void
}

/** Runs many seeds in several processes, and shows how it goes; returns whether all were good. */
export async function runMany({
  from,
  seeds,
  minutes,
  processes,
  folder,
  stopsAtFirst,
}: ManyOptions): Promise<boolean> {
  const worker = workerFor(seeds)
  const tally = new Tally()
  const until = performance.now() + minutes * 60_000
  let next = from
  const showing = setInterval(() => console.log(tally.line()), SHOW_EVERY)
  const nextOrder = (): Order | undefined => {
    const count = Math.min(CHUNK, from + seeds - next)
    const isOver = performance.now() >= until || (stopsAtFirst && tally.failures > 0)
    if (count <= 0 || isOver) return undefined
    next += count
    const isMany = stopsAtFirst || tally.failures >= MOST_SHRUNK
    return { from: next - count, count, options: isMany ? { shrinks: 0 } : { folder, shrinks: 150 } }
  }
  await Promise.all(Array.from({ length: processes }, () => serve(worker, nextOrder, tally)))
  worker.remove()
  clearInterval(showing)
  console.log(tally.line())
  console.log(tally.report())
  return tally.failures === 0
}

/**
 * What the processes run. A loader that compiles sources as they are imported gives each function its name as it is made, and asks
 * for the places of errors in the sources: both cost each seed something, so that many seeds are run by compiled files.
 */
function workerFor(seeds: number): Worker {
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  const isCompiled = !import.meta.url.endsWith('.ts')
  const flags = [...process.execArgv, ...FLAGS]
  if (isCompiled || seeds < FEW) {
    return { path: here(isCompiled ? './worker.js' : './worker.ts'), flags, remove: () => undefined }
  }
  const { folder, remove } = compileTests()
  return { path: join(folder, 'test/sim/worker.js'), flags: FLAGS, remove }
}

/** Gives a process one order after the other; one that dies fails the seeds of its order. */
function serve({ path, flags }: Worker, nextOrder: () => Order | undefined, tally: Tally): Promise<void> {
  return new Promise((resolve) => {
    let order: Order | undefined
    const begin = (): ChildProcess => {
      const child = fork(path, { execArgv: [...flags] })
      const goOn = () => {
        order = nextOrder()
        if (order === undefined) child.disconnect()
        else child.send(order)
      }
      child.on('message', (reports: SeedReport[]) => {
        for (const report of reports) tally.add(report)
        goOn()
      })
      child.on('exit', (code) => {
        if (order === undefined) return resolve()
        tally.addDeath(order, code)
        begin()
      })
      goOn()
      return child
    }
    begin()
  })
}
