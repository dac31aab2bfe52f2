import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import type { Costs } from '../core/usage.ts'
import { type FoundAmounts, settleTurn } from '../line/settle-turn.ts'
import type { Turn } from '../line/turn.ts'
import { type AcquireOptions, acquireOptionsSchema } from './options.ts'

/** Options of `wrap`: those of `acquire`, and the key of the turn; key, cost and costs may be functions of the arguments. */
export interface WrapOptions<Args extends unknown[], Value = unknown>
  extends Omit<AcquireOptions, 'cost' | 'costs'> {
  readonly key: string | ((...args: Args) => string)
  /** Default: 1. */
  readonly cost?: number | ((...args: Args) => number)
  /** Default: none. */
  readonly costs?: Costs | ((...args: Args) => Costs | undefined)
  /**
   * Says what a call really counted, as `turn.settle` does; undefined leaves the estimate. It is called with the result
   * and the arguments before the turn is released, and the caller waits for it. An error of it becomes an `error` event,
   * and the estimate stands, as where the function itself fails. Default: estimates stand.
   */
  readonly settle?: (result: Value, ...args: Args) => FoundAmounts
}

const isFunction = (value: unknown) => typeof value === 'function'
const wrapOptionsSchema = acquireOptionsSchema.extend({
  key: z.custom((value) => typeof value === 'string' || isFunction(value), {
    error: 'a key or a function that returns one',
  }),
  cost: z.union([acquireOptionsSchema.shape.cost, z.custom(isFunction)]),
  costs: z.union([acquireOptionsSchema.shape.costs, z.custom(isFunction)]),
  settle: z
    .custom(isFunction, { error: 'a function of the result that returns what a call counted' })
    .optional(),
})

interface WrapPorts {
  acquire(key: string, options: AcquireOptions): Promise<Pick<Turn, 'settle' | 'release'>>
  report(error: Error): void
}

/**
 * Returns a function that waits for its turn and then calls `fn` with the same `this` and arguments; the turn holds its
 * place until what `fn` returns has settled.
 *
 * @throws InvalidOptionsError
 */
export function wrap<This, Args extends unknown[], Value>(
  fn: (this: This, ...args: Args) => Value,
  input: WrapOptions<Args, NoInfer<Awaited<Value>>>,
  shaper: WrapPorts,
): (this: This, ...args: Args) => Promise<Awaited<Value>> {
  if (typeof fn !== 'function') {
    throw new InvalidOptionsError(`wrap: expected a function to wrap, got: ${describe(fn)}`)
  }
  // For its errors: the functions in it have lost their types.
  parseOptions(wrapOptionsSchema, input, 'wrap')
  const { key, cost, costs, settle, ...options } = input
  return async function (this: This, ...args: Args): Promise<Awaited<Value>> {
    const named = typeof key === 'function' ? key(...args) : key
    const turn = await shaper.acquire(named, {
      ...options,
      cost: typeof cost === 'function' ? cost(...args) : cost,
      costs: typeof costs === 'function' ? costs(...args) : costs,
    })
    try {
      const result = await fn.apply(this, args)
      if (settle !== undefined) {
        await settleTurn(
          turn,
          () => settle(result, ...args),
          (error) => shaper.report(error),
        )
      }
      return result
    } finally {
      await turn.release()
    }
  }
}
