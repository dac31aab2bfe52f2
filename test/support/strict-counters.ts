/** Counters of an API of another party. Each decides by itself whether a call may pass. Times are microseconds. */
export interface Counter {
  /** Whether the call may pass; if so, it counts. */
  pass(at: number, units: number): boolean
}

/** Counts anew from each multiple of its length, shifted by `phase`. */
export function fixedWindow(amount: number, length: number, phase = 0): Counter {
  let window = Number.NaN
  let used = 0
  return {
    pass(at, units) {
      const current = Math.floor((at - phase) / length)
      if (current !== window) used = 0
      window = current
      if (used + units > amount) return false
      used += units
      return true
    },
  }
}

/** Remembers each call for as long as its length. */
export function slidingWindow(amount: number, length: number): Counter {
  const calls: { readonly at: number; readonly units: number }[] = []
  return {
    pass(at, units) {
      while (calls.length > 0 && calls[0]!.at <= at - length) calls.shift()
      const used = calls.reduce((sum, call) => sum + call.units, 0)
      if (used + units > amount) return false
      calls.push({ at, units })
      return true
    },
  }
}

/** Holds `amount` tokens at most, and gets so many in each length. */
export function tokenBucket(amount: number, length: number): Counter {
  let left = amount
  let last = Number.NEGATIVE_INFINITY
  return {
    pass(at, units) {
      left = Math.min(amount, left + ((at - last) / length) * amount)
      last = at
      if (left < units) return false
      left -= units
      return true
    },
  }
}

/** Counts anew at each midnight of a zone, as the clock on its wall shows it. */
export function calendarDay(amount: number, zone: string): Counter {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone })
  let day = ''
  let used = 0
  return {
    pass(at, units) {
      const today = format.format(at / 1_000)
      if (today !== day) used = 0
      day = today
      if (used + units > amount) return false
      used += units
      return true
    },
  }
}
