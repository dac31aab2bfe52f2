const realSetImmediate = globalThis.setImmediate

/** So many steps are planned for each turn of the real event loop: most of its cost is that of a turn. */
const STEPS_PER_TURN = 64

/**
 * Calls `step` until it returns false. Between two calls Node runs all promises and ticks that are due, and nothing else
 * can be due, because nothing real is pending: so what a step causes is over when the next step begins.
 */
export function stepThrough(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const one = () => {
      if (isOver) return
      try {
        if (step()) return
        isOver = true
        resolve()
      } catch (error) {
        isOver = true
        reject(error)
      }
    }
    const turn = () => {
      if (isOver) return
      for (let n = 0; n < STEPS_PER_TURN; n++) realSetImmediate(one)
      realSetImmediate(turn)
    }
    turn()
  })
}
