import type { Scope, Session } from '../../../http/wire.ts'
import { ApiProblem, askJson } from './api.ts'
import { Store } from './store.ts'
import { token } from './token.ts'

/**
 * | kind   | meaning                                              |
 * |--------|------------------------------------------------------|
 * | asking | nothing is known yet                                 |
 * | locked | a token is needed, or another one                    |
 * | open   | the API answers                                      |
 * | failed | it does not, or not to this token; `message` says why |
 */
export type Access =
  | { readonly kind: 'asking' }
  | { readonly kind: 'locked'; readonly wasRefused: boolean }
  | { readonly kind: 'open'; readonly session: Session }
  | { readonly kind: 'failed'; readonly message: string; readonly isForbidden: boolean }

export const access = new Store<Access>({ kind: 'asking' })

/** Asks who we are, with the token that is held. */
export async function openSession(): Promise<void> {
  try {
    access.set({ kind: 'open', session: await askJson<Session>('v1/session') })
  } catch (error) {
    const { status, message } = asProblem(error)
    if (status === 401) lock()
    else access.set({ kind: 'failed', message, isForbidden: status === 403 })
  }
}

/** The token is not, or no longer, good. */
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

/** `admin` may do everything. */
export function may(session: Session, scope: Scope): boolean {
  return session.scopes.includes(scope) || session.scopes.includes('admin')
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  return new ApiProblem(0, 'unknown', error instanceof Error ? error.message : String(error))
}
