import { InvalidOptionsError } from '../core/errors.ts'
import { type Layer, parseLayer } from '../core/layered-book.ts'
import type { LineSettings } from './options.ts'

/**
 * The layers of the rule book that a shaper is started with.
 *
 * @throws InvalidOptionsError, InvalidLimitError or InvalidKeyError
 */
export function broughtLayers(settings: LineSettings): Layer[] {
  const { limits, limitsFrom, limitsBy, moreLimits } = settings
  const layers = [{ limits, from: limitsFrom, by: limitsBy }, ...moreLimits]
  const twice = layers.find(({ from }, index) => layers.findIndex((other) => other.from === from) < index)
  if (twice !== undefined) {
    throw new InvalidOptionsError(
      `new Shaper: expected limits and moreLimits to be of different layers, got: ${twice.from} twice`,
    )
  }
  return layers.map(({ limits, from, by = limitsBy }) => parseLayer(limits, from, by))
}
