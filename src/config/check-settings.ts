import type { z } from 'zod'
import { nameKnownFields, nearestIssue } from '../core/options.ts'
import { explainUnknown, explainValue } from './expectations.ts'
import { isMapping, type SettingPath, valueAt } from './paths.ts'
import { configSchema, type Settings } from './schema.ts'

/** A problem with the settings, from any layer. */
export interface Complaint {
  readonly path: SettingPath
  /** Whether the name of the setting is wrong, not its value. */
  readonly isAboutName: boolean
  readonly message: string
  /** For an unknown setting: the known one that was most likely meant. */
  readonly meant?: SettingPath
}

type Checked =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly complaints: readonly Complaint[] }

/** Checks the merged layers; reports all problems at once. */
export function checkSettings(input: unknown): Checked {
  const result = configSchema.safeParse(input, { error: nameKnownFields })
  const complaints = [
    ...(result.success ? [] : result.error.issues.flatMap((issue) => complaintsOf(issue, input))),
    ...withoutRedis(input),
  ]
  return result.success && complaints.length === 0
    ? { ok: true, settings: result.data }
    : { ok: false, complaints: withoutEchoes(complaints) }
}

function complaintsOf(issue: z.core.$ZodIssue, input: unknown): Complaint[] {
  if (issue.code === 'invalid_union') return complaintsOf(nearestIssue(issue), input)
  const { path } = issue
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(' ')
    return issue.keys.map((key) => {
      const { message, meant } = explainUnknown(path, key, known)
      return { path: [...path, key], isAboutName: true, message, ...(meant && { meant: [...path, meant] }) }
    })
  }
  const { isSentence, isAboutName = false } = issue.code === 'custom' ? (issue.params ?? {}) : {}
  const message = isSentence === true ? issue.message : explainValue(issue, path, valueAt(input, path))
  return [{ path, isAboutName: isAboutName === true, message }]
}

/** A mistyped name is not reported a second time as a missing setting. */
function withoutEchoes(complaints: readonly Complaint[]): Complaint[] {
  const meant = new Set(complaints.map((complaint) => JSON.stringify(complaint.meant)))
  return complaints.filter(
    ({ path, meant: other }) => other !== undefined || !meant.has(JSON.stringify(path)),
  )
}

/** Without redis (because the URL was forgotten, say), each process would have its own lines. */
function withoutRedis(input: unknown): Complaint[] {
  if (!isMapping(input) || input['redis'] !== undefined) return []
  return ['prefix', 'shards']
    .filter((field) => input[field] !== undefined)
    .map((field) => ({
      path: [field],
      isAboutName: true,
      message: `${field} needs redis: expected a Redis URL as well, got: nothing`,
    }))
}
