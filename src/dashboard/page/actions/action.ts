import type { BucketView } from '../../../core/bucket-view.ts'
import type { FamilyView } from '../../../core/family-view.ts'
import { serverClock } from '../clock.ts'
import { Store } from '../data/store.ts'
import type { MenuItem } from '../parts/menu.tsx'

/**
 * The action whose dialog is open.
 *
 * `limit` is about the rule of a pattern, or about a key, which may get its own rule.
 */
export type Action =
  | { readonly kind: 'freeze' | 'unfreeze' | 'pause' | 'resume'; readonly key: string }
  | { readonly kind: 'limit'; readonly key?: string; readonly pattern?: string; readonly limit: string }
  | { readonly kind: 'unset' | 'reset' | 'unset-local'; readonly pattern: string }

export const action = new Store<Action | undefined>(undefined)

export function begin(next: Action): void {
  action.set(next)
}

export function endAction(): void {
  action.set(undefined)
}

/** The actions for a bucket. */
export function bucketActions(bucket: BucketView): MenuItem[] {
  return actionsFor(bucket)
}

/** The actions for a family: the same, by its path. */
export function familyActions({ path, ...family }: FamilyView): MenuItem[] {
  return actionsFor({ ...family, key: path })
}

type Acted = Pick<BucketView, 'key' | 'pattern' | 'limit' | 'paused' | 'frozenUntil'>

function actionsFor({ key, pattern, limit, paused, frozenUntil }: Acted): MenuItem[] {
  const isFrozen = frozenUntil !== undefined && frozenUntil > serverClock.now()
  return [
    { icon: 'frozen', text: 'Freeze…', act: () => begin({ kind: 'freeze', key }) },
    ...(isFrozen
      ? [{ icon: 'sun', text: 'Unfreeze…', act: () => begin({ kind: 'unfreeze', key }) } as const]
      : []),
    paused
      ? { icon: 'resume', text: 'Resume…', act: () => begin({ kind: 'resume', key }) }
      : { icon: 'paused', text: 'Pause…', act: () => begin({ kind: 'pause', key }) },
    { icon: 'limit', text: 'Change limit…', act: () => begin({ kind: 'limit', key, pattern, limit }) },
  ]
}
