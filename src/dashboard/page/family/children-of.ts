import type { BucketView } from '../../../core/bucket-view.ts'
import type { FamilyView } from '../../../core/family-view.ts'
import type { Recent } from '../../../core/line-view.ts'
import type { BucketPage } from '../../../line/bucket-query.ts'
import type { FamilyPage } from '../../../line/family-query.ts'
import { askJson, subject } from '../data/api.ts'
import { weightOf } from '../data/family.ts'
import type { Child } from '../data/shares.ts'

/** Children that are shown; the service watches at most 100 buckets for all pages. */
export const SHOWN = 12
const ASKED = 100

/** A child of a total with what is shown of it. */
export type ShownChild = Child & Pick<BucketView, 'state' | 'running'>

/** The children right below a total in which most waits, by weight and then by name, and what they started. */
export async function childrenOf(path: string, signal: AbortSignal): Promise<readonly ShownChild[]> {
  const query = `under=${encodeURIComponent(path.slice(0, -1))}&sort=-waiting&limit=${ASKED}`
  const [{ buckets }, { families }] = await Promise.all([
    askJson<BucketPage>(`v1/buckets?${query}`, { signal }),
    askJson<FamilyPage>(`v1/families?${query}`, { signal }),
  ])
  const children = [
    ...buckets.filter(({ total }) => total === path).map((bucket) => childOf(bucket.key, bucket)),
    ...families.filter(({ total }) => total === path).map((family) => childOf(family.path, family)),
  ]
  const most = children.sort((one, other) => other.waiting - one.waiting).slice(0, SHOWN)
  const known = new Set(families.map((family) => family.path))
  const shown = await Promise.all(
    most.map(async (child) => (known.has(child.name) ? child : withRecent(child, signal))),
  )
  return shown.sort((one, other) => other.weight - one.weight || (one.name < other.name ? -1 : 1))
}

function childOf(name: string, { limit, waiting, state, running }: BucketView | FamilyView): ShownChild {
  return { name, weight: weightOf(limit), waiting, state, running }
}

/** A token may watch some buckets only; then what this one started is not shown. */
async function withRecent(child: ShownChild, signal: AbortSignal): Promise<ShownChild> {
  try {
    return { ...child, recent: await askJson<Recent>(`v1/buckets/${subject(child.name)}/recent`, { signal }) }
  } catch {
    signal.throwIfAborted()
    return child
  }
}
