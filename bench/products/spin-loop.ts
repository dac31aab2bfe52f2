import { intervalMs, type Payload, type Product } from './product.ts'

/**
 * No product but a ceiling: one line for all, and a loop that does nothing but look at the clock. It keeps the
 * slots by the same rule as we do: late by up to the tolerance leaves the grid where it is, later moves it.
 */
export const spinLoop: Product = {
  name: 'bare spin loop',
  setting: () => 'blocks the process',

  open(pace, start) {
    const interval = intervalMs(pace)
    const tolerance = Math.min(5, interval / 4)
    const line: [string, Payload][] = []
    const drain = () => {
      let next = performance.now()
      for (const [key, data] of line) {
        let now = performance.now()
        while (now < next) now = performance.now()
        next = (now - next <= tolerance ? next : now) + interval
        start(key, data)
      }
      line.length = 0
    }
    return (key, data) => {
      if (line.length === 0) setImmediate(drain)
      line.push([key, data])
      return undefined
    }
  },
}
