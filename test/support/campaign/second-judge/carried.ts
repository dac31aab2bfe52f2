import type { JobSeen } from './jobs.ts'
import { type Finding, ms, type Start } from './testimony.ts'

/** Fences of one key: each start has a greater one than all before it, whatever was lost between them. */
export function judgeFences(key: string, starts: readonly Start[]): Finding[] {
  const findings: Finding[] = []
  let greatest: Start | undefined
  for (const start of starts.toSorted((a, b) => a.at - b.at)) {
    if (start.fence === undefined) continue
    if (greatest !== undefined && start.fence <= greatest.fence!) {
      const message =
        `key "${key}": "${start.id}" started at ${ms(start.at)} with the fence ${start.fence}, after "${greatest.id}" with ` +
        `${greatest.fence} at ${ms(greatest.at)}`
      findings.push({ kind: 'fence not greater', at: start.at, key, id: start.id, message })
    } else greatest = start
  }
  return findings
}

/** What a handler got is what was asked for, byte for byte. */
export function judgeData(job: JobSeen): Finding | undefined {
  const { id, key, admits, starts } = job
  const asked = admits.find(({ data }) => data !== undefined)?.data
  const other = asked === undefined ? undefined : starts.find(({ data }) => data !== asked)
  if (other === undefined) return judgeCosts(job)
  const message = `key "${key}": "${id}" started at ${ms(other.at)} with other data than were asked for`
  return { kind: 'other data', at: other.at, key, id, message }
}

/** In units that a job names it counts what was asked for. */
function judgeCosts({ id, key, admits, starts }: JobSeen): Finding | undefined {
  const textOf = (costs: object | undefined) => JSON.stringify(Object.entries(costs ?? {}).toSorted())
  const [asked] = admits
  const other = asked && starts.find(({ costs }) => textOf(costs) !== textOf(asked.costs))
  if (other === undefined) return undefined
  const message = `key "${key}": "${id}" started at ${ms(other.at)} with the costs ${textOf(other.costs)}, and ${textOf(asked?.costs)} were asked for`
  return { kind: 'other data', at: other.at, key, id, message }
}
