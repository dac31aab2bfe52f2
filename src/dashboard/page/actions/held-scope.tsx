import { isFamily } from '../data/family.ts'
import { KeyText } from '../parts/key-text.tsx'

export function whatOf(name: string): 'bucket' | 'family' {
  return isFamily(name) ? 'family' : 'bucket'
}

/** What is frozen or paused, in words. */
export function HeldScope({ name }: { readonly name: string }) {
  return isFamily(name) ? (
    <>
      The whole family: <KeyText text={name.slice(0, -1)} /> and all keys below it
    </>
  ) : (
    <>
      This bucket only: <KeyText text={name} />
    </>
  )
}
