import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import type { Store } from '../data/store.ts'

/** The value of a store; the component renders again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const drawn = store.get()
  useLayoutEffect(() => {
    // It may have changed between rendering and listening.
    if (!Object.is(store.get(), drawn)) draw(0)
    return store.listen(() => draw(0))
  }, [store])
  return drawn
}

/** Calls back for a key such as `/`, unless the focus is in a field. */
export function useHotKey(key: string, act: () => void): void {
  const latest = useRef(act)
  latest.current = act
  useEffect(() => {
    const hear = (event: KeyboardEvent) => {
      const target = event.target as Element
      const isWriting = target.closest('input, textarea, select, dialog') !== null
      if (event.key !== key || isWriting || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      latest.current()
    }
    addEventListener('keydown', hear)
    return () => removeEventListener('keydown', hear)
  }, [key])
}
