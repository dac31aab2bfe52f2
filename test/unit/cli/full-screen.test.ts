import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { FullScreen } from '../../../src/cli/full-screen.ts'

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'

function open() {
  const written: string[] = []
  const heard: unknown[] = []
  const output = Object.assign(new EventEmitter(), {
    columns: 80,
    rows: 24,
    write: (text: string) => void written.push(text),
  })
  const input = Object.assign(new EventEmitter(), {
    setRawMode: (isRaw: boolean) => void heard.push(['raw', isRaw]),
    setEncoding: () => {},
    resume: () => {},
    pause: () => void heard.push('pause'),
  })
  const screen = new FullScreen(output, input)
  const before = process.listenerCount('SIGTERM') + process.listenerCount('exit')
  screen.enter({
    onKeys: (keys) => heard.push(keys),
    onResize: () => heard.push('resize'),
    onEnd: (signal) => heard.push(signal),
  })
  const listens = () => process.listenerCount('SIGTERM') + process.listenerCount('exit') - before
  return { screen, output, input, written, heard, listens }
}

describe('the whole screen', () => {
  it('is taken, drawn over, and given back once', () => {
    const { screen, written, heard, listens } = open()
    screen.draw(['one', 'two'])
    screen.leave()
    screen.leave()
    screen.draw(['late'])
    expect(written).toEqual([ENTER, '\u001b[H\u001b[2Kone\r\n\u001b[2Ktwo', LEAVE])
    expect(heard).toEqual([['raw', true], ['raw', false], 'pause'])
    expect(listens()).toBe(0)
  })

  it('is given back whatever ends the process', () => {
    const { written, listens } = open()
    expect(listens()).toBe(2)
    // As Node does at the end, also after an uncaught error.
    ;(process.listeners('exit').at(-1) as () => void)()
    expect(written.at(-1)).toBe(LEAVE)
    expect(listens()).toBe(0)
  })

  it('reports keys, its size, and signals to end', () => {
    const { screen, input, output, written, heard } = open()
    input.emit('data', 'q\u001b[A')
    output.emit('resize')
    input.emit('end')
    ;(process.listeners('SIGTERM').at(-1) as (signal: string) => void)('SIGTERM')
    expect(heard.slice(1)).toEqual([
      [{ name: 'character', character: 'q' }, { name: 'up' }],
      'resize',
      'SIGHUP',
      'SIGTERM',
    ])
    expect(written.at(-1)).toBe('\u001b[2J')
    screen.leave()
    input.emit('data', 'x')
    output.emit('resize')
    expect(heard.at(-1)).toBe('pause')
  })

  it('has a size when the terminal knows none', () => {
    const { screen, output } = open()
    Object.assign(output, { columns: 0, rows: undefined })
    expect(screen.size).toEqual({ columns: 80, rows: 24 })
    screen.leave()
  })
})
