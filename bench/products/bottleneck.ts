import Bottleneck from 'bottleneck'
import { intervalMs, type Product } from './product.ts'

export const bottleneck: Product = {
  name: 'Bottleneck',
  setting: (pace) => `Group, minTime ${intervalMs(pace)}`,

  open(pace, start) {
    const group = new Bottleneck.Group({ minTime: intervalMs(pace) })
    return (key, data) => {
      void group.key(key).schedule(async () => start(key, data))
      return undefined
    }
  },
}
