import { onTestFinished } from 'vitest'
import type { LimitInput } from '../../src/core/limit.ts'
import type { Retention } from '../../src/line/options.ts'
import { AuditedDriver } from '../support/audited-driver.ts'
import type { OpenDriver } from '../support/backend-driver.ts'
import { memoryDriver } from '../support/memory-driver.ts'
import { redisDriver } from '../support/redis-driver.ts'

/** Every backend; whatever one of them can do, all of them can. */
export const DRIVERS: readonly (readonly [name: string, open: OpenDriver])[] = [
  ['memory', memoryDriver],
  ['redis', redisDriver],
]

/** A driver for one test, with its audit held against its views after every step. */
export async function openFor(
  open: OpenDriver,
  limits: string | Readonly<Record<string, LimitInput>>,
  keepFinished?: number | Retention,
): Promise<AuditedDriver> {
  const driver = await open(typeof limits === 'string' ? { '*': limits } : limits, keepFinished)
  onTestFinished(() => driver.close())
  return new AuditedDriver(driver)
}
