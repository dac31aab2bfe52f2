/** Renders SVG: escaped text, short numbers, and one colour scheme for light and dark. */

/** The colours of charts. The capacity line is always `velvet`. */
export type Tone = 'velvet' | 'slate' | 'blue' | 'amber' | 'green' | 'violet'

const LIGHT: Readonly<Record<Tone, string>> = {
  velvet: '#a5124a',
  slate: '#64748b',
  blue: '#2f6db5',
  amber: '#d97706',
  green: '#2e7d5b',
  violet: '#7048b6',
}

const DARK: Readonly<Record<Tone, string>> = {
  velvet: '#ff6f9f',
  slate: '#9aa8bc',
  blue: '#6fb1f5',
  amber: '#fbb040',
  green: '#5fc79a',
  violet: '#b79bf2',
}

export interface SvgDocument {
  readonly width: number
  readonly height: number
  readonly title: string
  /** Text alternative of the picture. */
  readonly description: string
  readonly body: readonly string[]
}

export function renderDocument(document: SvgDocument): string {
  const { width, height } = document
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"` +
      ' role="img" aria-labelledby="title description">',
    `<title id="title">${escapeXml(document.title)}</title>`,
    `<desc id="description">${escapeXml(document.description)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${width}" height="${height}" rx="10"/>`,
    ...document.body,
    '</svg>',
    '',
  ].join('\n')
}

export interface TextOptions {
  readonly style?: 'title' | 'heading' | 'note' | 'tick' | 'value'
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly tone?: Tone
}

export function svgText(x: number, y: number, text: string, options: TextOptions = {}): string {
  const { style = 'tick', anchor = 'start', tone } = options
  const tinted = tone === undefined ? '' : ` f-${tone}`
  return (
    `<text class="${style}${tinted}" x="${short(x)}" y="${short(y)}" text-anchor="${anchor}">` +
    `${escapeXml(text)}</text>`
  )
}

/** A coordinate, to a hundredth of a pixel. */
export function short(value: number): string {
  return String(Math.round(value * 100) / 100)
}

/** Estimates the width of a text, well enough to lay out a legend without knowing the font. */
export function textWidth(text: string, size: number): number {
  return text.length * size * 0.56
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function sheet(tones: Readonly<Record<Tone, string>>): string {
  return Object.entries(tones)
    .map(([name, colour]) => `.s-${name}{stroke:${colour}}.f-${name}{fill:${colour}}`)
    .join('')
}

// Plain colours instead of CSS variables: viewers other than browsers support only those.
const STYLE = [
  'text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#4b5563;font-size:12px;' +
    'font-variant-numeric:tabular-nums}',
  '.title{font-size:20px;font-weight:650;fill:#111827}.heading{font-size:13px;font-weight:600;fill:#1f2937}',
  '.note{font-size:13px;fill:#5b6472}.tick{font-size:11px;fill:#6b7280}.value{font-weight:600;fill:#1f2937}',
  '.paper{fill:#fff}.grid{stroke:#e7e9ee;stroke-width:1}.base{stroke:#9ca3af;stroke-width:1.6}.track{fill:#f1f2f5}',
  '.line{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}.area{stroke:none;fill-opacity:.2}',
  '.mark{stroke-width:1.2;stroke-dasharray:5 4;fill:none}.tickline{stroke-width:1.1;stroke-opacity:.75}',
  sheet(LIGHT),
  '@media (prefers-color-scheme:dark){text{fill:#a8b0bd}.title{fill:#f5f6f8}.heading,.value{fill:#e6e8ec}',
  '.note{fill:#a8b0bd}.tick{fill:#98a1b0}.paper{fill:#14161b}.grid{stroke:#262b34}.base{stroke:#5b6472}',
  `.track{fill:#20242c}.area{fill-opacity:.26}${sheet(DARK)}}`,
].join('')
