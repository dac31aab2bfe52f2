import { createRequire, syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { patchCommands } from './patch-commands.ts'
import { patchHash } from './patch-hash.ts'
import { patchRandom } from './patch-random.ts'
import { EPOCH } from './process.ts'
import { SimImmediate, SimTimeout, timers } from './timers.ts'
import { currentProcess } from './world.ts'

/**
 * Puts clocks, timers and chance of a world in the place of Node's, for code that runs in a process of a world; all other
 * code keeps the real ones. To be imported before the code that shall see them.
 */
type Callback = (...args: unknown[]) => void

const require = createRequire(import.meta.url)
const nodeTimers: Record<string, unknown> = require('node:timers')
const timersPromises: Record<string, unknown> = require('node:timers/promises')

const real = {
  setTimeout: globalThis.setTimeout as unknown as (...args: unknown[]) => unknown,
  setInterval: globalThis.setInterval as unknown as (...args: unknown[]) => unknown,
  setImmediate: globalThis.setImmediate as unknown as (...args: unknown[]) => unknown,
  clearTimeout: globalThis.clearTimeout as (handle: unknown) => void,
  clearInterval: globalThis.clearInterval as (handle: unknown) => void,
  clearImmediate: globalThis.clearImmediate as unknown as (handle: unknown) => void,
  sleep: timersPromises['setTimeout'] as (...args: unknown[]) => Promise<unknown>,
  turn: timersPromises['setImmediate'] as (...args: unknown[]) => Promise<unknown>,
}

function setTimer(isInterval: boolean, realSet: (...args: unknown[]) => unknown) {
  return (callback: Callback, ms?: unknown, ...args: unknown[]) => {
    const process = currentProcess()
    if (process === undefined) return realSet(callback, ms, ...args)
    return timers(process).set(() => callback(...args), ms, isInterval)
  }
}

function clearTimer(realClear: (handle: unknown) => void) {
  return (handle: unknown) => {
    const process = currentProcess()
    if (handle instanceof SimTimeout) handle.close()
    else if (process === undefined) realClear(handle)
    else timers(process).clear(handle)
  }
}

function setImmediate(callback: Callback, ...args: unknown[]): unknown {
  const process = currentProcess()
  if (process === undefined) return real.setImmediate(callback, ...args)
  return new SimImmediate(process.check(() => callback(...args)))
}

function clearImmediate(handle: unknown): void {
  if (handle instanceof SimImmediate) handle.event.isCancelled = true
  else if (currentProcess() === undefined) real.clearImmediate(handle)
}

interface Waiting {
  readonly signal?: AbortSignal
}

function waits(
  plan: (done: () => void) => () => void,
  value: unknown,
  { signal }: Waiting,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      cancel()
      reject(new DOMException('The operation was aborted', 'AbortError'))
    }
    const cancel = plan(() => {
      signal?.removeEventListener('abort', abort)
      resolve(value)
    })
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

function sleep(ms?: unknown, value?: unknown, options: Waiting = {}): Promise<unknown> {
  const process = currentProcess()
  if (process === undefined) return real.sleep(ms, value, options)
  const plan = (done: () => void) => {
    const timer = timers(process).set(done, ms, false)
    return () => void timer.close()
  }
  return waits(plan, value, options)
}

function turn(value?: unknown, options: Waiting = {}): Promise<unknown> {
  const process = currentProcess()
  if (process === undefined) return real.turn(value, options)
  const plan = (done: () => void) => {
    const event = process.check(done)
    return () => {
      event.isCancelled = true
    }
  }
  return waits(plan, value, options)
}

const setTimeout = setTimer(false, real.setTimeout)
Object.defineProperty(setTimeout, promisify.custom, { value: sleep })
Object.defineProperty(setImmediate, promisify.custom, { value: turn })
const replaced = {
  setTimeout,
  setInterval: setTimer(true, real.setInterval),
  setImmediate,
  clearTimeout: clearTimer(real.clearTimeout),
  clearInterval: clearTimer(real.clearInterval),
  clearImmediate,
}
Object.assign(globalThis, replaced)
Object.assign(nodeTimers, replaced)
Object.assign(timersPromises, { setTimeout: sleep, setImmediate: turn })

const RealDate = globalThis.Date
class SimDate extends RealDate {
  constructor(...args: unknown[]) {
    if (args.length === 0) super(SimDate.now())
    else super(...(args as [string]))
  }

  static override now(): number {
    const process = currentProcess()
    return process === undefined ? RealDate.now() : Math.floor(process.wallMs())
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object.prototype.toString.call(value) === '[object Date]'
  }
}
globalThis.Date = SimDate as DateConstructor

const realNow = performance.now.bind(performance)
/** What reads it once, when it is loaded, reads the same in each run: to times of another origin other roundings belong. */
const timeOrigin = EPOCH / 1_000
Object.defineProperty(performance, 'now', { value: () => currentProcess()?.monotonicMs() ?? realNow() })
Object.defineProperty(performance, 'timeOrigin', {
  get: () => currentProcess()?.timeOriginMs() ?? timeOrigin,
})

const realHrtime = process.hrtime.bind(process)
const realBigint = process.hrtime.bigint.bind(process.hrtime)
const bigint = () => {
  const own = currentProcess()
  return own === undefined ? realBigint() : BigInt(Math.round(own.monotonicMs() * 1e6))
}
const hrtime = (since?: [number, number]): [number, number] => {
  if (currentProcess() === undefined) return realHrtime(since)
  const nanoseconds = Number(bigint()) - (since === undefined ? 0 : since[0] * 1e9 + since[1])
  return [Math.floor(nanoseconds / 1e9), nanoseconds % 1e9]
}
const realUptime = process.uptime.bind(process)
const realUsage = process.resourceUsage.bind(process)
Object.assign(process, {
  hrtime: Object.assign(hrtime, { bigint }),
  uptime: () => {
    const own = currentProcess()
    return own === undefined ? realUptime() : own.monotonicMs() / 1_000
  },
  resourceUsage: () => {
    const own = currentProcess()
    return own === undefined ? realUsage() : { userCPUTime: Math.round(own.used), systemCPUTime: 0 }
  },
})

const realTimeout = AbortSignal.timeout.bind(AbortSignal)
AbortSignal.timeout = (ms: number) => {
  const process = currentProcess()
  if (process === undefined) return realTimeout(ms)
  const controller = new AbortController()
  const abort = () => controller.abort(new DOMException('The operation timed out', 'TimeoutError'))
  timers(process).set(abort, ms, false).unref()
  return controller.signal
}

patchRandom()
patchHash()
syncBuiltinESMExports()
patchCommands()
