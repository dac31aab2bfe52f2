import { useEffect } from 'preact/hooks'
import type { Session } from '../../http/wire.ts'
import { ActionHost } from './actions/action-host.tsx'
import { BucketView } from './bucket/bucket-view.tsx'
import { watch } from './data/live.ts'
import { type View, writePageUrl } from './data/page-url.ts'
import { go, route } from './data/route.ts'
import { access } from './data/session.ts'
import { visibleText } from './data/shown-text.ts'
import { FamilyPage } from './family/family-view.tsx'
import { Overview } from './overview/overview.tsx'
import { useStore } from './parts/hooks.ts'
import { Notices } from './parts/notices.tsx'
import { RulesView } from './rules/rules-view.tsx'
import { SignIn } from './sign-in.tsx'
import { TopBar } from './top-bar.tsx'

/** The whole page: the sign-in form or a view. */
export function App() {
  const now = useStore(access)
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      {now.kind === 'open' ? <Open session={now.session} /> : <SignIn access={now} />}
      <Notices />
    </>
  )
}

function Open({ session }: { readonly session: Session }) {
  const view = useStore(route)
  const url = writePageUrl(view)
  const [first, second] = session.prefixes
  useEffect(() => {
    if (view.name !== 'overview' || view.query.prefix !== undefined || second === undefined)
      return watch(view)
    // A token with several prefixes shows one of them at a time.
    go({ name: 'overview', query: { ...view.query, prefix: first } }, 'replace')
  }, [url])
  useEffect(() => {
    document.title = `${titleOf(view)} · ${session.shaper} · velvet-rope`
  }, [url])
  return (
    <>
      <TopBar session={session} view={view} />
      <main id="main" tabIndex={-1}>
        {view.name === 'overview' && <Overview session={session} query={view.query} />}
        {view.name === 'bucket' && <BucketView key={view.key} session={session} bucket={view.key} />}
        {view.name === 'family' && <FamilyPage key={view.path} session={session} path={view.path} />}
        {view.name === 'rules' && <RulesView session={session} />}
      </main>
      <ActionHost />
    </>
  )
}

function titleOf(view: View): string {
  if (view.name === 'bucket') return visibleText(view.key)
  if (view.name === 'family') return visibleText(view.path)
  return view.name === 'rules' ? 'Rules' : 'Overview'
}
