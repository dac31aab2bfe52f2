const NAME = 'velvet-rope-token'

/** The access token, kept only until the tab is closed. Empty where none is needed. */
export const token = {
  get: (): string => sessionStorage.getItem(NAME) ?? '',
  set: (value: string): void => sessionStorage.setItem(NAME, value),
  forget: (): void => sessionStorage.removeItem(NAME),
}
