import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { isFamily } from '../data/family.ts'
import { KeyText } from '../parts/key-text.tsx'

interface ScopeChoiceProps {
  readonly bucket: string | undefined
  /** The pattern of the rule that is in force now. */
  readonly governing: string | undefined
  readonly pattern: string
  readonly onPattern: (pattern: string) => void
  readonly isLocal: boolean
  readonly onLocal: (isLocal: boolean) => void
}

/** Shows which keys a limit is for, and lets the user choose where there is a choice. */
export function ScopeChoice(props: ScopeChoiceProps) {
  const { bucket, governing, pattern, onPattern, isLocal, onLocal } = props
  const name = useId()
  return (
    <>
      {bucket === undefined ? (
        <PatternField pattern={pattern} isFixed={governing !== undefined} onPattern={onPattern} />
      ) : (
        <fieldset class="choices">
          <legend>For which keys</legend>
          <Choice name={name} isChosen={pattern === bucket} onChoose={() => onPattern(bucket)}>
            {isFamily(bucket) ? 'The sum of this family' : 'This key and all keys below it'}:{' '}
            <KeyText text={bucket} most={48} />
          </Choice>
          {governing !== undefined && governing !== bucket && (
            <Choice name={name} isChosen={pattern === governing} onChoose={() => onPattern(governing)}>
              The rule that governs it now: <Keys pattern={governing} />
            </Choice>
          )}
        </fieldset>
      )}
      {!isFamily(pattern) && (
        <label class="choice">
          <input
            type="checkbox"
            checked={isLocal}
            onChange={(event) => onLocal(event.currentTarget.checked)}
          />
          <span>
            Only in the process that serves this page, until that process ends
            <small>Other processes keep the current rule.</small>
          </span>
        </label>
      )}
    </>
  )
}

/** The keys of a pattern in words. */
export function Keys({ pattern }: { readonly pattern: string }) {
  if (pattern === '*') return <>every key that no other rule governs</>
  if (isFamily(pattern)) {
    if (pattern.includes('*')) {
      return (
        <>
          the sum of each family <KeyText text={pattern} most={48} />
        </>
      )
    }
    return (
      <>
        the sum of <KeyText text={pattern.slice(0, -1)} most={48} /> and every key below it
      </>
    )
  }
  return (
    <>
      <KeyText text={pattern} most={48} /> and every key below it
    </>
  )
}

interface PatternFieldProps {
  readonly pattern: string
  readonly isFixed: boolean
  readonly onPattern: (pattern: string) => void
}

function PatternField({ pattern, isFixed, onPattern }: PatternFieldProps) {
  const field = useId()
  if (isFixed) {
    return (
      <p class="scope">
        For <Keys pattern={pattern} />
      </p>
    )
  }
  return (
    <div class="field">
      <label for={field}>Pattern</label>
      <input
        id={field}
        class="input is-code"
        value={pattern}
        onInput={(event) => onPattern(event.currentTarget.value)}
        aria-describedby={`${field}-hint`}
        placeholder="stripe/*"
        autocomplete="off"
        spellcheck={false}
      />
      <p id={`${field}-hint`} class="hint">
        Governs this key and every key below it; <code>*</code> stands for one segment. The longest matching
        pattern applies. With a slash at its end, such as <code>stripe/</code>, it limits their sum.
      </p>
    </div>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly children: ComponentChildren
}

function Choice({ name, isChosen, onChoose, children }: ChoiceProps) {
  return (
    <label class="choice">
      <input type="radio" name={name} checked={isChosen} onChange={onChoose} />
      <span>{children}</span>
    </label>
  )
}
