import type { TargetedEvent } from 'preact'
import { useId, useState } from 'preact/hooks'
import { type Access, openSession, signIn, signOut } from './data/session.ts'
import { token } from './data/token.ts'
import { Logo } from './parts/logo.tsx'

/** Shown until the API grants access: a form for the token, or why access failed. */
export function SignIn({ access }: { readonly access: Exclude<Access, { kind: 'open' }> }) {
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <div class="sign-in-card">
        <p class="brand">
          <Logo /> velvet-rope
        </p>
        {access.kind === 'locked' && <TokenForm wasRefused={access.wasRefused} />}
        {access.kind === 'failed' && <Failed {...access} />}
        {access.kind === 'asking' && <p class="hint is-waiting">Connecting…</p>}
      </div>
    </main>
  )
}

function TokenForm({ wasRefused }: { readonly wasRefused: boolean }) {
  const [text, setText] = useState('')
  const field = useId()
  const send = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (text.trim() !== '') void signIn(text.trim())
  }
  return (
    <form onSubmit={send}>
      <h1>Access token required</h1>
      <div class="field">
        <label for={field}>Access token</label>
        <input
          id={field}
          class="input is-code"
          type="password"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          aria-invalid={wasRefused}
          aria-describedby={`${field}-hint`}
          autocomplete="off"
          spellcheck={false}
        />
        <p
          id={`${field}-hint`}
          class={wasRefused ? 'hint is-bad' : 'hint'}
          role={wasRefused ? 'alert' : undefined}
        >
          {wasRefused
            ? 'This token is unknown or no longer valid.'
            : 'The token needs the scope read; changes need admin. This tab keeps it until you close it.'}
        </p>
      </div>
      <button type="submit" class="button is-main" aria-disabled={text.trim() === ''}>
        Sign in
      </button>
    </form>
  )
}

interface FailedProps {
  readonly message: string
  readonly isForbidden: boolean
}

function Failed({ message, isForbidden }: FailedProps) {
  return (
    <div role="alert">
      <h1>{isForbidden ? 'This token has no access' : 'The service does not answer'}</h1>
      <p>{message}</p>
      <p class="buttons">
        <button type="button" class="button" onClick={() => void openSession()}>
          Try again
        </button>
        {token.get() !== '' && (
          <button type="button" class="button is-bare" onClick={signOut}>
            Use another token
          </button>
        )}
      </p>
    </div>
  )
}
