import { isFamily } from '../data/family.ts'
import { KeyText } from '../parts/key-text.tsx'

export function whatOf(name: string): 'bucket' | 'family' {
  return isFamily(name) ? 'family' : 'bucket'
}

/** What is frozen or paused, in words. */
export function HeldScope({ name }: { readonly name: string }) {
  return isFamily(name) ? (
    <>
      The whole family: all keys below <KeyText text={name} />
    </>
  ) : (
    <>
      This bucket only: <KeyText text={name} />
    </>
  )
}
