import { InvalidOptionsError } from '../core/errors.ts'

const ID = /^[A-Za-z0-9_~-]{1,128}$/

/** @throws InvalidOptionsError */
export function checkJobId(id: string): void {
  if (ID.test(id)) return
  throw new InvalidOptionsError('expected <id> to be letters, digits, _, - and ~, 1 to 128 of them')
}
