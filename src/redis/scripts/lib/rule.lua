-- Rules as the caller passes them.

-- The rule in force, as the caller passes it: seven arguments from `at` on. The limit has its further parts behind it (see usage.lua),
-- and behind them the totals of the key: see member.lua.
local function read_rule(at, book)
  local limit, chain = ARGV[at + 6], ''
  local from = string.find(limit, '\n[', 1, true)
  if from then limit, chain = string.sub(limit, 1, from - 1), string.sub(limit, from + 1) end
  if usage.has_parts(limit) then usage.expect_limit(limit) end
  if from then family.expect_chain(chain) end
  return {
    pattern = ARGV[at], capacity = number(ARGV[at + 1]), interval = number(ARGV[at + 2]),
    tolerance = number(ARGV[at + 3]), warmUp = number(ARGV[at + 4]), coldInterval = number(ARGV[at + 5]),
    limit = limit, chain = chain, book = book,
  }
end
