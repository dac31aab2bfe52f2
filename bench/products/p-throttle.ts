import createThrottle from 'p-throttle'
import { type Product, perKey } from './product.ts'

export const pThrottle: Product = {
  name: 'p-throttle',
  setting: ({ count, periodMs }) => `limit ${count}, interval ${periodMs}`,

  open(pace, start) {
    const lines = perKey(() => createThrottle({ limit: pace.count, interval: pace.periodMs })(start))
    return (key, data) => {
      void lines(key)(key, data)
      return undefined
    }
  },
}
