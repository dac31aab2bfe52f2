import { randomBytes } from 'node:crypto'

/** Names a process, or rather one shaper in it, among all that share its lines. */
export function makeCallerName(): string {
  return randomBytes(9).toString('base64url')
}

/** The id of a turn says in which process its caller waits; no id of a job can look like it. */
export function makeTurnId(caller: string): string {
  return `~${caller}~${randomBytes(12).toString('base64url')}`
}
