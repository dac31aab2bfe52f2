import { onTestFinished } from 'vitest'
import type { LimitInput } from '../../src/core/limit.ts'
import { at, COMPLETED, type Driver, type OpenDriver, request } from './backend-driver.ts'

/** How far time goes on at once; seconds. */
export const STEP = 0.01

interface FamilyStart {
  readonly id: string
  readonly key: string
  readonly seconds: number
}

/** A family, and what departed from it: the key and the second of each start. */
export class FamilyStage {
  readonly starts: FamilyStart[] = []
  readonly running: string[] = []
  readonly driver: Driver
  #seconds = 0
  #jobs = 0

  private constructor(driver: Driver) {
    this.driver = driver
  }

  static async open(open: OpenDriver, limits: Readonly<Record<string, LimitInput>>): Promise<FamilyStage> {
    const driver = await open(limits)
    onTestFinished(() => driver.close())
    return new FamilyStage(driver)
  }

  get now(): number {
    return at(this.#seconds)
  }

  admit(key: string, part: Parameters<typeof request>[1] = {}, id = `j${this.#jobs++}`) {
    return this.driver.admit(request(id, { key, ...part }), this.now)
  }

  /** Returns which were accepted. */
  async fill(key: string, jobs: number, part?: Parameters<typeof request>[1]): Promise<boolean[]> {
    const requests = Array.from({ length: jobs }, () => request(`j${this.#jobs++}`, { key, ...part }))
    const answers = await this.driver.admitMany(requests, this.now)
    return answers.map(({ accepted }) => accepted)
  }

  /**
   * Time passes, and what is due departs; each attempt ends at once, or with `isKept` does not. `onStart` may enqueue more.
   */
  async pass(
    seconds: number,
    {
      isKept = false,
      onStart,
    }: { isKept?: boolean; onStart?: (start: FamilyStart) => Promise<unknown> } = {},
  ): Promise<void> {
    for (const end = this.#seconds + seconds; this.#seconds < end - STEP / 2; ) {
      this.#seconds = Math.round((this.#seconds + STEP) * 100) / 100
      await this.driver.expire(this.now)
      for (
        let job = await this.driver.startNext(this.now);
        job;
        job = await this.driver.startNext(this.now)
      ) {
        const start = { id: job.id, key: job.key, seconds: this.#seconds }
        this.starts.push(start)
        if (isKept) this.running.push(job.id)
        else await this.driver.finish(job.id, COMPLETED, this.now)
        await onStart?.(start)
      }
    }
  }

  /** How many started, by key. */
  counts(since = 0): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { key, seconds } of this.starts) if (seconds > since) counts[key] = (counts[key] ?? 0) + 1
    return counts
  }
}
