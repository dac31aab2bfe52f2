import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import type { Costs } from '../core/usage.ts'
import type { Turn } from '../line/turn.ts'
import { type AcquireOptions, acquireOptionsSchema } from './options.ts'

/** Options of `wrap`: those of `acquire`, and the key of the turn; key, cost and costs may be functions of the arguments. */
export interface WrapOptions<Args extends unknown[]> extends Omit<AcquireOptions, 'cost' | 'costs'> {
  readonly key: string | ((...args: Args) => string)
  /** Default: 1. */
  readonly cost?: number | ((...args: Args) => number)
  /** Default: none. */
  readonly costs?: Costs | ((...args: Args) => Costs | undefined)
}

const isFunction = (value: unknown) => typeof value === 'function'
const wrapOptionsSchema = acquireOptionsSchema.extend({
  key: z.custom((value) => typeof value === 'string' || isFunction(value), {
    error: 'a key or a function that returns one',
  }),
  cost: z.union([acquireOptionsSchema.shape.cost, z.custom(isFunction)]),
  costs: z.union([acquireOptionsSchema.shape.costs, z.custom(isFunction)]),
})

/**
 * Returns a function that waits for its turn and then calls `fn` with the same `this` and arguments; the turn holds its
 * place until what `fn` returns has settled.
 *
 * @throws InvalidOptionsError
 */
export function wrap<This, Args extends unknown[], Value>(
  fn: (this: This, ...args: Args) => Value,
  input: WrapOptions<Args>,
  acquire: (key: string, options: AcquireOptions) => Promise<Pick<Turn, 'release'>>,
): (this: This, ...args: Args) => Promise<Awaited<Value>> {
  if (typeof fn !== 'function') {
    throw new InvalidOptionsError(`wrap: expected a function to wrap, got: ${describe(fn)}`)
  }
  // For its errors: the functions in it have lost their types.
  parseOptions(wrapOptionsSchema, input, 'wrap')
  const { key, cost, costs, ...options } = input
  return async function (this: This, ...args: Args): Promise<Awaited<Value>> {
    const named = typeof key === 'function' ? key(...args) : key
    const turn = await acquire(named, {
      ...options,
      cost: typeof cost === 'function' ? cost(...args) : cost,
      costs: typeof costs === 'function' ? costs(...args) : costs,
    })
    try {
      return await fn.apply(this, args)
    } finally {
      await turn.release()
    }
  }
}
