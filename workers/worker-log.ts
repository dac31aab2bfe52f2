import { monotonicNow } from '../src/core/clock.ts'
import { quote } from '../src/core/describe.ts'
import { SECOND } from '../src/core/duration.ts'
import { messageOf } from '../src/core/errors.ts'
import type { Shaper } from '../src/shaper/shaper.ts'
import { oneLine } from './one-line.ts'

/** An error that comes again and again, as while Redis is away, is told this often. */
const AGAIN = 10 * SECOND

/** Plain lines on standard error, for people and log collectors; no payload gets into them. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Tells what an operator wants to know of a worker; `where` names the Redis. */
export function logWorker(shaper: Shaper, where: string): void {
  const errors = new Repetition()
  shaper
    .on('connected', ({ durability, version }) => {
      say(`connected to ${where}: Redis ${version}, durability ${durability}`)
    })
    .on('failed', ({ id, attempt, at, error, retryAt }) => {
      const rest = retryAt === undefined ? '' : `, tried again in ${Math.max(0, Math.round(retryAt - at))} ms`
      say(`job ${quote(id)} failed in attempt ${attempt}: ${quote(messageOf(error))}${rest}`)
    })
    .on('error', (error) => {
      const message = oneLine(messageOf(error))
      if (errors.isNew(message, monotonicNow())) say(`error: ${message}`)
    })
}

/** Remembers the last text that was told, and when. */
export class Repetition {
  #text: string | undefined
  #until = 0

  isNew(text: string, now: number): boolean {
    if (text === this.#text && now < this.#until) return false
    this.#text = text
    this.#until = now + AGAIN
    return true
  }
}
