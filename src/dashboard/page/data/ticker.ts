const TICK_MS = 250

const tellers = new Map<Element, () => void>()
const visible = new Set<Element>()
let timer: number | undefined

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) visible.add(target)
    else visible.delete(target)
    if (isIntersecting) tellers.get(target)?.()
  }
})

/** Calls back four times a second while the element can be seen: one timer for everything that counts. @returns what ends it */
export function everyTick(element: Element, tell: () => void): () => void {
  tellers.set(element, tell)
  observer.observe(element)
  timer ??= window.setInterval(tick, TICK_MS)
  tell()
  return () => {
    tellers.delete(element)
    visible.delete(element)
    observer.unobserve(element)
    if (tellers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  if (document.visibilityState === 'hidden') return
  for (const element of visible) tellers.get(element)?.()
}
