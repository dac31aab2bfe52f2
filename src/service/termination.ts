/** So long may handlers that run take to end, in milliseconds: below the 30 s after which most hosts kill. */
export const DEFAULT_DRAIN_MS = 25_000

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const

export type TerminationSignal = keyof typeof EXIT_CODES

/** Resolves at the first SIGTERM or SIGINT. A second one ends the process at once, with the code of its signal. */
export function terminationSignal(): Promise<TerminationSignal> {
  return new Promise((resolve) => {
    let isTold = false
    const onSignal = (signal: TerminationSignal): void => {
      if (isTold) process.exit(EXIT_CODES[signal])
      isTold = true
      resolve(signal)
    }
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  })
}
