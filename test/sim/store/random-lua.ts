import fc from 'fast-check'

/** Random pieces of Lua, most of which run, and some of which fail. */

/** Shows any value so that the order of the keys of a table, and where it lies, make no difference. */
export const PRELUDE = [
  'local function show(v, depth)',
  '  local kind = type(v)',
  "  if kind == 'number' then return v ~= v and 'NaN' or string.format('%.17g', v) end",
  "  if kind == 'string' then return string.format('%q', v) end",
  "  if kind ~= 'table' then return kind == 'boolean' and tostring(v) or kind end",
  "  if depth > 5 then return '...' end",
  '  local parts = {}',
  "  for key, value in pairs(v) do parts[#parts + 1] = show(key, depth + 1) .. '=' .. show(value, depth + 1) end",
  '  table.sort(parts)',
  "  return '{' .. table.concat(parts, ',') .. '}'",
  'end',
  "local a, b, s, t, u = 7, -2.5, 'hello world', {3, 1, 2}, {x = 1}",
].join('\n')

const number = fc.constantFrom(
  '0',
  '1',
  '2',
  '3',
  '-1',
  '10',
  '255',
  '0.5',
  '-2.5',
  '1e15',
  '1e16',
  '1e300',
  '1/3',
  '0x1F',
  '123456789012',
  '2^53',
)
/** Between two numbers with as many digits as are printed. */
const halfway = fc.constantFrom(
  '0.125',
  '0.5',
  '1.5',
  '2.5',
  '1700000000485267.25',
  '1700000000485267.75',
  '12.25',
  '0.0625',
  '2^-20',
)
const name = fc.constantFrom('a', 'b', 's', 't', 'u')
const quoted = fc.constantFrom(
  "''",
  "'x'",
  "'hello'",
  "'10'",
  "' 5 '",
  "'0x10'",
  "'1e2'",
  "'a,b,c'",
  "'key=value'",
  "'\\0\\255'",
  "'3.0'",
  "'%d'",
  "'abc123def'",
  "'[x]'",
  '[[long text]]',
  "'inf'",
)
const pattern = fc.constantFrom(
  "'l+'",
  "'(%w+)'",
  "'%d+'",
  "'^h'",
  "'o$'",
  "'.-o'",
  "'[aeiou]'",
  "'[^%s]+'",
  "'(h)(e)'",
  "'()ll()'",
  "'%b()'",
  "'%f[%w]%w+'",
  "'(.)%1'",
  "'x*'",
  "'[%a_][%w_]*'",
  "'%'",
  "'[a'",
  "'(a'",
  "'%g'",
  "'[a-]'",
  "'[]]'",
  "'%.'",
  "','",
  "'a?b?'",
)
const directive = fc.constantFrom(
  "'%d'",
  "'%5d|'",
  "'%-5d|'",
  "'%05d'",
  "'%+d'",
  "'% d'",
  "'%x'",
  "'%#x'",
  "'%X'",
  "'%o'",
  "'%c'",
  "'%e'",
  "'%.3e'",
  "'%f'",
  "'%.0f'",
  "'%10.2f'",
  "'%g'",
  "'%.3g'",
  "'%.17g'",
  "'%.14g'",
  "'%s'",
  "'%.2s'",
  "'%8s|'",
  "'%-8s|'",
  "'%q'",
  "'%i'",
  "'%u'",
  "'%%'",
  "'%5.1f|'",
  "'%d %s'",
  "'%y'",
  "'%G'",
)
const format = fc.constantFrom(
  "'<I4'",
  "'>I4'",
  "'<d'",
  "'>d'",
  "'<f'",
  "'<i2'",
  "'>h'",
  "'<H'",
  "'b'",
  "'B'",
  "'s'",
  "'c3'",
  "'<I4I4'",
  "'<ds'",
  "'>I3'",
  "'!4bi4'",
  "'<l'",
  "'<L'",
  "'I8'",
  "'x<b'",
  "'bc0'",
  "'z'",
)

const { expression } = fc.letrec<{
  expression: string
  leaf: string
  value: string
  arithmetic: string
  comparison: string
  text: string
  table: string
  call: string
}>((tie) => ({
  leaf: fc.oneof(
    { weight: 4, arbitrary: number },
    { weight: 3, arbitrary: quoted },
    { weight: 4, arbitrary: name },
    { weight: 2, arbitrary: fc.constantFrom('nil', 'true', 'false') },
  ),
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'lua' },
    tie('leaf'),
    tie('arithmetic'),
    tie('text'),
    tie('call'),
  ),
  arithmetic: fc
    .tuple(tie('value'), fc.constantFrom('+', '-', '*', '/', '%', '^'), tie('value'))
    .map(([left, sign, right]) => `(${left} ${sign} ${right})`),
  comparison: fc
    .tuple(tie('value'), fc.constantFrom('==', '~=', '<', '<=', '>', '>=', 'and', 'or'), tie('value'))
    .map(([left, sign, right]) => `(${left} ${sign} ${right})`),
  text: fc.oneof(
    fc.tuple(tie('value'), tie('value')).map(([one, other]) => `(${one} .. ${other})`),
    tie('value').map((one) => `#${one}`),
    tie('value').map((one) => `-${one}`),
    tie('value').map((one) => `not ${one}`),
  ),
  table: fc.oneof(
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `{${items.join(', ')}}`),
    tie('value').map((item) => `{x = ${item}}`),
    fc.tuple(tie('value'), tie('value')).map(([key, item]) => `{[${key}] = ${item}}`),
    fc.tuple(tie('value'), tie('value')).map(([item, last]) => `{${item}, y = 1, ${last}}`),
  ),
  call: fc.oneof(
    ...['sub', 'byte'].map((of) =>
      fc.tuple(tie('value'), number, number).map(([one, from, to]) => `string.${of}(${one}, ${from}, ${to})`),
    ),
    ...['upper', 'lower', 'len', 'reverse', 'byte'].map((of) =>
      tie('value').map((one) => `string.${of}(${one})`),
    ),
    fc
      .tuple(tie('value'), fc.constantFrom('0', '1', '3', '-1', 'nil'))
      .map(([one, count]) => `string.rep(${one}, ${count})`),
    fc
      .tuple(tie('value'), pattern, fc.constantFrom('', ', 2', ', -3', ', 1, true'))
      .map(([one, what, more]) => `string.find(${one}, ${what}${more})`),
    fc.tuple(tie('value'), pattern).map(([one, what]) => `string.match(${one}, ${what})`),
    fc
      .tuple(
        tie('value'),
        pattern,
        fc.constantFrom("'<%0>'", "'%1'", '{h = 1, l = false}', 'string.upper', "'%2'", "'%%'", 'nil'),
        fc.constantFrom('', ', 1'),
      )
      .map(([one, what, by, limit]) => `string.gsub(${one}, ${what}, ${by}${limit})`),
    fc
      .tuple(
        fc.constantFrom("'%.0f'", "'%.1f'", "'%.2f'", "'%.1e'", "'%.0e'", "'%.17g'", "'%.3g'", "'%.2g'"),
        halfway,
      )
      .map(([how, one]) => `string.format(${how}, ${one})`),
    fc.tuple(directive, tie('value')).map(([how, one]) => `string.format(${how}, ${one})`),
    tie('leaf').map((one) => `tonumber(${one})`),
    fc
      .tuple(quoted, fc.constantFrom('2', '10', '16', '36', '1'))
      .map(([one, base]) => `tonumber(${one}, ${base})`),
    fc.oneof(number, quoted, fc.constantFrom('nil', 'true')).map((one) => `tostring(${one})`),
    tie('value').map((one) => `type(${one})`),
    ...['abs', 'floor', 'ceil', 'sqrt'].map((of) => tie('value').map((one) => `math.${of}(${one})`)),
    ...['max', 'min', 'fmod', 'pow'].map((of) =>
      fc.tuple(tie('value'), tie('value')).map(([one, other]) => `math.${of}(${one}, ${other})`),
    ),
    ...['modf', 'frexp'].map((of) => number.map((one) => `math.${of}(${one})`)),
    fc
      .tuple(fc.constantFrom("'#'", '1', '2', '-1', '0'), tie('value'), tie('value'))
      .map(([which, one, other]) => `select(${which}, ${one}, ${other})`),
    tie('table').map((one) => `unpack(${one})`),
    fc
      .tuple(tie('table'), fc.constantFrom('', ", ','", ", '', 2", ", '-', 1, 2"))
      .map(([one, more]) => `table.concat(${one}${more})`),
    tie('table').map((one) => `next(${one})`),
    tie('table').map((one) => `cjson.decode(cjson.encode(${one}))`),
    fc
      .oneof(number, quoted, fc.constantFrom('true', 'nil', '{}', '{1, 2, {3}}', '{a = {1}}', 'cjson.null'))
      .map((one) => `cjson.encode(${one})`),
    fc
      .constantFrom(
        "'[1,2.5,null,true]'",
        '\'{"a":{"b":[]},"c":"\\\\u00e9\\\\n"}\'',
        "'nope'",
        "'[1,]'",
        '\'{"a"}\'',
        '\'"\\\\x"\'',
        "' 12 '",
        "'1e5'",
        "'-0'",
        "'[[[]]]'",
        "''",
        "'\"open'",
      )
      .map((one) => `cjson.decode(${one})`),
    tie('table').map((one) => `cmsgpack.unpack(cmsgpack.pack(${one}))`),
    fc
      .oneof(
        number,
        quoted,
        fc.constantFrom(
          'true',
          'nil',
          '{}',
          '{1, 2, {3}}',
          '{a = 1}',
          '-33',
          '-129',
          '65536',
          '2^33',
          '-2^40',
          '2^63',
          '1.5',
        ),
      )
      .map((one) => `cmsgpack.pack(${one})`),
    fc
      .tuple(format, tie('value'), number)
      .map(([how, one, other]) => `struct.pack(${how}, ${one}, ${other})`),
    fc.tuple(format, tie('value')).map(([how, one]) => `struct.unpack(${how}, ${one})`),
    fc
      .tuple(format, number, quoted)
      .map(([how, one, other]) => `struct.unpack(${how}, struct.pack(${how}, ${one}, ${other}))`),
    ...['band', 'bor', 'bxor', 'lshift', 'rshift', 'arshift', 'rol', 'ror'].map((of) =>
      fc.tuple(number, number).map(([one, other]) => `bit.${of}(${one}, ${other})`),
    ),
    ...['bnot', 'tobit', 'tohex', 'bswap'].map((of) => number.map((one) => `bit.${of}(${one})`)),
    fc
      .tuple(tie('value'), fc.constantFrom('x', 'y', '[1]', '[2]', "['x']", '[a]'))
      .map(([one, key]) => `(${one})${key.startsWith('[') ? key : `.${key}`}`),
    fc
      .tuple(name, fc.constantFrom('upper()', 'len()', 'sub(2)', 'nosuch()'))
      .map(([one, what]) => `${one}:${what}`),
    tie('value').map((one) => `(function(...) return ..., select('#', ...) end)(${one}, nil)`),
    tie('value').map((one) => `pcall(function() return ${one} end)`),
    tie('value').map((one) => `pcall(error, ${one})`),
    tie('value').map((one) => `redis.sha1hex(${one})`),
  ),
  expression: fc.oneof(
    tie('value'),
    tie('arithmetic'),
    tie('comparison'),
    tie('text'),
    tie('table'),
    tie('call'),
    tie('call'),
    tie('call'),
  ),
}))

const statement = fc.oneof(
  expression.map((one) => `a = ${one}`),
  expression.map((one) => `b, s = ${one}`),
  fc.tuple(expression, expression).map(([one, other]) => `a, b = ${one}, ${other}`),
  fc
    .tuple(fc.constantFrom('t[1]', 't[#t + 1]', 't.x', 'u[a]', "u['y']"), expression)
    .map(([where, one]) => `${where} = ${one}`),
  fc
    .tuple(expression, expression, expression)
    .map(
      ([one, then, other]) => `if ${one} then a = ${then}\nelseif a == 7 then b = 1 else b = ${other} end`,
    ),
  expression.map((one) => `for i = 1, 3 do t[#t + 1] = i * 2 if i == 2 then a = ${one} break end end`),
  expression.map((one) => `for i = 10, 1, -3 do local x = ${one} u[i] = x end`),
  fc.constantFrom(
    'for k, v in pairs({10, 20, 30}) do b = (tonumber(b) or 0) + k * v end',
    'for _, v in ipairs({1, 2, nil, 4}) do t[#t + 1] = v end',
    "for word in string.gmatch('one two  three', '%a+') do t[#t + 1] = word end",
    "for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do u[k] = v end",
    'local i = 0 while true do i = i + 1 if i > 5 then break end end a = i',
    'local i = 0 repeat local done = i >= 3 i = i + 1 until done b = i',
    'local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end a = fib(10)',
    'local fs = {} for i = 1, 3 do fs[i] = function() i = i + 1 return i end end a = fs[1]() + fs[1]() + fs[2]()',
    'table.sort(t, function(one, other) return tostring(one) > tostring(other) end)',
    "table.insert(t, 1, 'first')",
    "table.insert(t, 'last')",
    'b = table.remove(t)',
    'b = table.remove(t, 1)',
    'local x <nothing',
    'do local a = 1 a = a + 1 t.inner = a end',
    "u = setmetatable({}, {__index = function(_, k) return k .. '!' end, __call = function(self, x) return x end}) a = u.foo b = u(3)",
    "u = setmetatable({}, {__add = function(x, y) return 'added' end, __eq = function() return true end}) a = u + 1",
    'local q = {} q.f = function(self, n) return n + 1 end a = q:f(4)',
    'goto = 1',
    "error('own')",
    "error({err = 'OWN message'})",
    'local x = nosuch',
    'nosuch = 1',
    'return a, b',
    'local n = select("#", unpack({1, nil, 3})) a = n',
    '--[[ a comment\nof two lines ]] a = 1 -- and one more',
  ),
)

/** A script that shows what it has done. */
export const randomScript: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(statement, { minLength: 1, maxLength: 6 }),
    fc.array(expression, { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  .map(([statements, shown, isProtected]) => {
    const body = `${statements.join('\n')}\nreturn ${['a', 'b', 's', 't', 'u', ...shown].join(', ')}`
    if (!isProtected) return `${PRELUDE}\n${statements.join('\n')}\nreturn show({${shown.join(', ')}}, 0)`
    return `${PRELUDE}\nlocal results = {pcall(function()\n${body}\nend)}\nreturn show(results, 0)`
  })

/** What a script returns, as a reply. */
export const randomReply: fc.Arbitrary<string> = expression.map((one) => `${PRELUDE}\nreturn ${one}`)
