import { Session } from 'node:inspector/promises'

/**
 * Counts what code does: how often each of its blocks runs, by the coverage of V8. A loop shows as many times as it goes round;
 * no clock is involved. (Loops inside built-in functions do not show.)
 */
export class BlockCounter {
  readonly #session = new Session()
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  /** @param path a part of the addresses of the modules that count, such as `/src/` */
  static async open(path: string): Promise<BlockCounter> {
    const counter = new BlockCounter(path)
    counter.#session.connect()
    await counter.#session.post('Profiler.enable')
    await counter.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    return counter
  }

  /** How many blocks run while `act` does. */
  async during(act: () => unknown): Promise<number> {
    // What ran before is taken and forgotten.
    await this.#session.post('Profiler.takePreciseCoverage')
    act()
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => url.includes(this.#path))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
      .reduce((sum, count) => sum + count, 0)
  }

  async close(): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }
}
