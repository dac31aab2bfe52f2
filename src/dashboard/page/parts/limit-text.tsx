import { KeyText } from './key-text.tsx'

interface LimitTextProps {
  readonly limit: string
  /** The pattern of the rule that it is of. */
  readonly pattern: string
}

/** A limit, and below it which rule has it. */
export function LimitText({ limit, pattern }: LimitTextProps) {
  return (
    <>
      <span class="limit-text" title={limit}>
        {limit}
      </span>
      <span class="limit-rule">
        rule <KeyText text={pattern} most={28} />
      </span>
    </>
  )
}
