import { Redis } from 'ioredis'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  type RateLimiterRes,
} from 'rate-limiter-flexible'
import { openPool } from '../../postgres/pool.ts'
import type { Pace } from '../product.ts'
import type { MeterProduct, MeterSetup } from './product.ts'

export const flexibleInMemory = product(({ pace }) => new RateLimiterMemory(optionsOf(pace)))

export const flexibleOnRedis = product(
  ({ address, pace }) => new RateLimiterRedis({ storeClient: new Redis(address), ...optionsOf(pace) }),
)

export const flexibleOnPostgres = product((setup) => openOnPostgres(setup, {}))

/** Who was refused is refused by this process until the window ends, and the store is not asked. */
export const flexibleOnRedisBlocking = product(
  ({ address, pace }) =>
    new RateLimiterRedis({ storeClient: new Redis(address), ...optionsOf(pace), ...blocking(pace) }),
  ', inMemoryBlockOnConsumed',
)

export const flexibleOnPostgresBlocking = product(
  (setup) => openOnPostgres(setup, blocking(setup.pace)),
  ', inMemoryBlockOnConsumed',
)

type Opened = Pick<RateLimiterAbstract, 'consume'>

function product(open: (setup: MeterSetup) => Opened | Promise<Opened>, more = ''): MeterProduct {
  return {
    name: 'rate-limiter-flexible',
    setting: ({ count, periodMs }) => `points ${count}, duration ${periodMs / 1_000}${more}`,

    async open(setup) {
      const limiter = await open(setup)
      return (key, amount) => limiter.consume(key, amount).then(accepted, waitOf)
    },
  }
}

function optionsOf({ count, periodMs }: Pace) {
  return { points: count, duration: periodMs / 1_000 }
}

function blocking({ count }: Pace) {
  return { inMemoryBlockOnConsumed: count + 1 }
}

/** It makes its table by itself, and refuses every call until that is there. */
function openOnPostgres(setup: MeterSetup, more: { inMemoryBlockOnConsumed?: number }): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const limiter: Opened = new RateLimiterPostgres(
      { storeClient: openPool(setup), storeType: 'pool', ...optionsOf(setup.pace), ...more },
      (error) => {
        if (error) reject(error)
        else setImmediate(() => resolve(limiter))
      },
    )
  })
}

function accepted(): number {
  return 0
}

/** A refusal is a rejection without an error. */
function waitOf(refusal: RateLimiterRes | Error): number {
  if (refusal instanceof Error) throw refusal
  return Math.max(1, refusal.msBeforeNext)
}
