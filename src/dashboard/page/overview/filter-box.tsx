import { useEffect, useRef, useState } from 'preact/hooks'
import { formatFilter, parseFilter } from '../data/filter.ts'
import { tableProblem } from '../data/live.ts'
import type { TableQuery } from '../data/page-url.ts'
import { go } from '../data/route.ts'
import { useHotKey, useStore } from '../parts/hooks.ts'
import { Icon } from '../parts/icon.tsx'

/** Filters only after a pause in typing. */
const REST_MS = 250

/** The filter of the table, as text. Errors are shown below it and do not change the table. */
export function FilterBox({ query }: { readonly query: TableQuery }) {
  const input = useRef<HTMLInputElement>(null)
  const timer = useRef(0)
  const [text, setText] = useState(() => formatFilter(query))
  const [fault, setFault] = useState('')
  const refused = useStore(tableProblem)
  useHotKey('/', () => input.current!.select())
  // Navigation may change the filter, but not while the field has the focus.
  const written = formatFilter(query)
  useEffect(() => {
    if (document.activeElement === input.current) return
    setText(written)
    setFault('')
  }, [written])
  useEffect(() => () => clearTimeout(timer.current), [])
  const take = (typed: string) => {
    const reading = parseFilter(typed)
    setFault(reading.isGood ? '' : reading.fault)
    if (!reading.isGood || formatFilter(reading.filter) === written) return
    go({ name: 'overview', query: { ...reading.filter, sort: query.sort } }, 'replace')
  }
  const type = (typed: string) => {
    setText(typed)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => take(typed), REST_MS)
  }
  const clear = () => {
    setText('')
    take('')
    input.current!.focus()
  }
  const problem = fault || refused?.message || ''
  return (
    <search class="filter">
      <div class="filter-box">
        <Icon name="search" />
        <label class="sr-only" for="filter">
          Filter buckets
        </label>
        <input
          ref={input}
          id="filter"
          type="text"
          value={text}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') take(text)
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
          placeholder="twilio/ fill > 50% state:full"
          aria-invalid={problem !== ''}
          aria-describedby="filter-hint"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
        />
        {text === '' ? (
          <span class="hot-key" aria-hidden="true">
            /
          </span>
        ) : (
          <button type="button" class="button is-bare is-icon" aria-label="Clear the filter" onClick={clear}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <p
        id="filter-hint"
        class={problem === '' ? 'hint' : 'hint is-bad'}
        role={problem === '' ? undefined : 'alert'}
      >
        {problem === '' ? (
          <>
            Key prefix, and <code>fill &gt; 50%</code> <code>wait &gt; 30s</code> <code>state:frozen</code>{' '}
            <code>pattern:stripe/*</code>
          </>
        ) : (
          problem
        )}
      </p>
    </search>
  )
}
