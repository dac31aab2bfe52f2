import PQueue from 'p-queue'
import { type Product, perKey } from './product.ts'

export const pQueue: Product = {
  name: 'p-queue',
  setting: ({ count, periodMs }) => `intervalCap ${count}, interval ${periodMs}`,

  open(pace, start) {
    const lines = perKey(() => new PQueue({ intervalCap: pace.count, interval: pace.periodMs }))
    return (key, data) => {
      void lines(key).add(() => start(key, data))
      return undefined
    }
  },
}
