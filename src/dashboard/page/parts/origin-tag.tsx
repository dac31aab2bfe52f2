import type { ListedRule } from '../../../core/rule-view.ts'

const WORDS: Readonly<Record<ListedRule['origin'], { readonly text: string; readonly says: string }>> = {
  code: { text: 'code', says: 'Set by the program' },
  file: { text: 'file', says: 'Set by the configuration file' },
  environment: { text: 'environment', says: 'Set by the environment of a process' },
  override: { text: 'set by hand', says: 'Set at runtime; overrides code, file and environment' },
  local: { text: 'this process', says: 'Only in the process that serves this page, until that process ends' },
}

/** The origin of a rule. */
export function OriginTag({ origin }: { readonly origin: ListedRule['origin'] }) {
  const { text, says } = WORDS[origin]
  return (
    <span class={`tag origin-${origin}`} title={says}>
      {text}
    </span>
  )
}
