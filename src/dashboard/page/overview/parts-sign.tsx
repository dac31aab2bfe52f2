import { formatCount } from '../data/format.ts'
import { type BucketParts, levelOf, type PartUse, partsOf, shareOf } from '../data/parts.ts'

/** A thin line with one segment for each quota, and one for the places: how much of each is used. */
export function PartsSign({ bucket }: { readonly bucket: BucketParts }) {
  const parts = partsOf(bucket)
  if (parts.length === 0) return null
  return (
    <span class="parts-sign">
      {parts.map((part) => (
        <span key={part.name} class={`parts-segment ${levelOf(part)}`} title={textOf(part)}>
          <span class="fill-part" style={{ transform: `scaleX(${shareOf(part)})` }} />
          <span class="sr-only">, {textOf(part)}</span>
        </span>
      ))}
    </span>
  )
}

function textOf({ name, used, of }: PartUse): string {
  return `${name}: ${formatCount(used)} of ${formatCount(of)} used`
}
