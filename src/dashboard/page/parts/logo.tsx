/** The logo: two posts with a cord between them. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 28 24" width="28" height="24" aria-hidden="true" focusable="false">
      <path class="logo-line" d="M5 7.5C7.5 17 20.5 17 23 7.5" />
      <path class="logo-post" d="M5 6v14M23 6v14M2 21h6M20 21h6" />
      <circle class="logo-knob" cx="5" cy="4.6" r="2.4" />
      <circle class="logo-knob" cx="23" cy="4.6" r="2.4" />
    </svg>
  )
}
