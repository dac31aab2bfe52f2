const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const

export type TerminationSignal = keyof typeof EXIT_CODES

/** Resolves at the first SIGTERM or SIGINT. A second one ends the process at once, with the code of its signal. */
export function terminationSignal(): Promise<TerminationSignal> {
  return new Promise((resolve) => {
    let wasSignalled = false
    const onSignal = (signal: TerminationSignal): void => {
      if (wasSignalled) process.exit(EXIT_CODES[signal])
      wasSignalled = true
      resolve(signal)
    }
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  })
}
