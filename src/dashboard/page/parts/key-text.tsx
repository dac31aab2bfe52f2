import { shortened, visibleText } from '../data/shown-text.ts'

/** A key, a pattern or an id, with invisible and bidirectional characters made visible. */
export function KeyText({ text, most = 64 }: { readonly text: string; readonly most?: number }) {
  const whole = visibleText(text)
  const shown = shortened(whole, most)
  return (
    <bdi class="key" dir="ltr" title={shown === whole ? undefined : whole}>
      {shown}
    </bdi>
  )
}
