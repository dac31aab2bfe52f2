import { Meter, type MeterOptions, type MeterReading, PostgresMeterStore } from '../../../dist/src/meter.js'
import { openPool } from '../../postgres/pool.ts'
import type { Pace } from '../product.ts'
import type { Ask, MeterProduct, MeterSetup } from './product.ts'

export const ropeInMemory = product((setup) => ({ ...(setup.clock && { clock: setup.clock }) }))

export const ropeOnRedis = product(({ address }) => ({ connection: `unix://${address}` }))

export const ropeOnPostgres = product(async (setup) => {
  const store = new PostgresMeterStore(openPool(setup))
  await store.setup()
  return { store }
})

type Place = Omit<MeterOptions, 'limits'>

function product(place: (setup: MeterSetup) => Place | Promise<Place>): MeterProduct {
  return {
    name: 'velvet-rope',
    setting: (pace) => `limit '${limitOf(pace)}'`,

    async open(setup): Promise<Ask> {
      const meter = new Meter('bench', { limits: { '*': limitOf(setup.pace) }, ...(await place(setup)) })
      return (key, amount) => meter.fill(key, amount).then(waitOf)
    },
  }
}

function limitOf({ count, periodMs, capacity = count }: Pace): string {
  return `${capacity}, ${count} per ${periodMs}ms`
}

function waitOf({ retryAfterMs }: MeterReading): number {
  return retryAfterMs
}
