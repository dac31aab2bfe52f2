import { type Payload, type Product, perKey } from './product.ts'

/** No product but a floor: an array per key, drained at the next turn. No limit, no clock, no promise, no state. */
export const bareArrays: Product = {
  name: 'bare arrays',
  setting: () => 'no limit',

  open(pace, start) {
    const lines = perKey((): Payload[] => [])
    const isUnlimited = pace.count > 1e6
    return (key, data) => {
      const line = lines(key)
      if (line.push(data) === 1 && isUnlimited) {
        setImmediate(() => {
          for (const job of line) start(key, job)
          line.length = 0
        })
      }
      return undefined
    }
  },
}
