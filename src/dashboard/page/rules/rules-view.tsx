import { useEffect, useState } from 'preact/hooks'
import type { RuleBookView } from '../../../core/rule-view.ts'
import type { Session } from '../../../http/wire.ts'
import { begin } from '../actions/action.ts'
import { getRuleBook } from '../actions/rule-requests.ts'
import type { ApiProblem } from '../data/api.ts'
import { ruleChanges } from '../data/live.ts'
import { notice } from '../data/notice.ts'
import { asProblem, lock, may } from '../data/session.ts'
import { useStore } from '../parts/hooks.ts'
import { Icon } from '../parts/icon.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { RuleTable } from './rule-table.tsx'

/** The rule book: which limit is for which keys, and who set it. */
export function RulesView({ session }: { readonly session: Session }) {
  const changes = useStore(ruleChanges)
  // Shows changes from this page at once, even without the stream.
  const done = useStore(notice)
  const [book, setBook] = useState<RuleBookView>()
  const [problem, setProblem] = useState<ApiProblem>()
  const isAdmin = may(session, 'admin')
  useEffect(() => {
    let isOver = false
    getRuleBook().then(
      (got) => {
        if (isOver) return
        setBook(got)
        setProblem(undefined)
      },
      (error: unknown) => {
        const met = asProblem(error)
        if (met.status === 401) lock()
        else if (!isOver) setProblem(met)
      },
    )
    return () => {
      isOver = true
    }
  }, [changes, done])
  return (
    <section class="rules" aria-labelledby="rules-title">
      <header class="view-head">
        <div>
          <h1 id="rules-title">Rules</h1>
          <p class="view-says">
            The longest matching pattern governs a key. A total limits the sum of a family.
            {book !== undefined && <span class="tag is-quiet">version {book.version}</span>}
          </p>
        </div>
        {isAdmin && (
          <button type="button" class="button is-main" onClick={() => begin({ kind: 'limit', limit: '' })}>
            <Icon name="plus" /> Add a rule
          </button>
        )}
      </header>
      {problem !== undefined && <ProblemNote>{problem.message}</ProblemNote>}
      {book !== undefined && <RuleTable book={book} isAdmin={isAdmin} />}
    </section>
  )
}
