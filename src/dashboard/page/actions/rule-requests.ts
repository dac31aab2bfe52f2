import type { RuleBookView, RulePreview } from '../../../core/rule-view.ts'
import { ask, askJson, subject } from '../data/api.ts'

/** A change of the rule book. `isLocal`: only in the process that answers. */
export type RuleRequest =
  | { readonly kind: 'set'; readonly pattern: string; readonly limit: string; readonly isLocal?: boolean }
  | { readonly kind: 'unset' | 'reset' | 'unset-local'; readonly pattern: string }

export function getRuleBook(): Promise<RuleBookView> {
  return askJson<RuleBookView>('v1/limits')
}

/** Previews a change without making it. */
export function previewChange(request: RuleRequest, signal: AbortSignal): Promise<RulePreview> {
  const query = ['dryRun=true', ...(request.kind === 'reset' ? ['override=only'] : [])].join('&')
  return askJson<RulePreview>(`${pathOf(request)}?${query}`, { ...callOf(request), signal })
}

/** Makes a change. @throws ApiProblem `rule-book-changed` when the rule book no longer has this version */
export async function applyChange(request: RuleRequest, version: number | undefined): Promise<void> {
  const isLocal = request.kind === 'unset-local' || (request.kind === 'set' && request.isLocal === true)
  const query = isLocal ? '?scope=local' : request.kind === 'reset' ? '?override=only' : ''
  // A local rule is not in the rule book and has no version.
  await ask(`${pathOf(request)}${query}`, {
    ...callOf(request),
    ...(!isLocal && version !== undefined && { ifVersion: version }),
  })
}

function pathOf({ pattern }: RuleRequest): string {
  return `v1/limits/${subject(pattern)}`
}

function callOf(request: RuleRequest) {
  return request.kind === 'set'
    ? ({ method: 'PUT', body: { limit: request.limit } } as const)
    : ({ method: 'DELETE' } as const)
}
