import type { ListedRule } from '../../../core/rule-view.ts'

const WORDS: Readonly<Record<ListedRule['origin'], { readonly text: string; readonly says: string }>> = {
  code: { text: 'code', says: 'The program brought it' },
  file: { text: 'file', says: 'The configuration file says so' },
  environment: { text: 'environment', says: 'The environment of a process says so' },
  override: { text: 'set by hand', says: 'Set while it ran, in front of code, file and environment' },
  local: { text: 'this process', says: 'Only in the process that serves this page, until it ends' },
}

/** Where a rule comes from. */
export function OriginTag({ origin }: { readonly origin: ListedRule['origin'] }) {
  const { text, says } = WORDS[origin]
  return (
    <span class={`tag origin-${origin}`} title={says}>
      {text}
    </span>
  )
}
