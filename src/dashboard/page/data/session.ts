import type { Scope, Session } from '../../../http/wire.ts'
import { ApiProblem, askJson } from './api.ts'
import { Store } from './store.ts'
import { token } from './token.ts'

/**
 * | kind   | meaning                                              |
 * |--------|------------------------------------------------------|
 * | asking | the first request is in progress                     |
 * | locked | a token is needed, or another one                    |
 * | open   | the API grants access                                |
 * | failed | no answer, or no access; `message` says why          |
 */
export type Access =
  | { readonly kind: 'asking' }
  | { readonly kind: 'locked'; readonly wasRefused: boolean }
  | { readonly kind: 'open'; readonly session: Session }
  | { readonly kind: 'failed'; readonly message: string; readonly isForbidden: boolean }

export const access = new Store<Access>({ kind: 'asking' })

/** Opens a session with the stored token. */
export async function openSession(): Promise<void> {
  try {
    access.set({ kind: 'open', session: await askJson<Session>('v1/session') })
  } catch (error) {
    const { status, message } = asProblem(error)
    if (status === 401) lock()
    else access.set({ kind: 'failed', message, isForbidden: status === 403 })
  }
}

/** Drops the token, which is not or no longer valid. */
export function lock(): void {
  const wasRefused = token.get() !== ''
  token.forget()
  access.set({ kind: 'locked', wasRefused })
}

export async function signIn(given: string): Promise<void> {
  token.set(given)
  await openSession()
}

export function signOut(): void {
  token.forget()
  access.set({ kind: 'locked', wasRefused: false })
}

/** Whether the token has a scope; `admin` includes the others. */
export function may(session: Session, scope: Scope): boolean {
  return session.scopes.includes(scope) || session.scopes.includes('admin')
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  return new ApiProblem(0, 'unknown', error instanceof Error ? error.message : String(error))
}
