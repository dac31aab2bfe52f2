/** What a command leaves behind for the shell. */
export const EXIT = {
  ok: 0,
  /** It ran, and the answer is no: a law was broken, or something failed underneath. */
  failure: 1,
  /** It could not run as asked: the flags, a limit or an input file must be changed. */
  usage: 2,
  /** A job was turned away at the rope. */
  rejected: 3,
  /** Ctrl-C, as shells say it. */
  interrupted: 130,
} as const
