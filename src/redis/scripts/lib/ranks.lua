-- Ranks in `:fill`, which is sorted by fill, and within one fill by key. Among a million buckets of the same fill, a key or prefix
-- is found by binary search.

local function members_below(fill)
  return redis.call('ZCOUNT', K.fill, '-inf', '(' .. string.format('%.17g', fill))
end

local function members_to(fill)
  return redis.call('ZCOUNT', K.fill, '-inf', fill)
end

-- The first rank of [from, to), all of one fill, whose key is not `is_early`.
local function seek(from, to, is_early)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if is_early(redis.call('ZRANGE', K.fill, middle, middle)[1]) then from = middle + 1 else to = middle end
  end
  return from
end

local function seek_after(from, to, key)
  return seek(from, to, function(member) return member == key or is_before(member, key) end)
end

-- The ranks of the keys that begin with the prefix: the first, and the one after the last.
local function seek_prefix(from, to, prefix)
  local length = #prefix
  local first = seek(from, to, function(member) return is_before(member, prefix) end)
  local member = first < to and redis.call('ZRANGE', K.fill, first, first)[1]
  if not member or string.sub(member, 1, length) ~= prefix then return first, first end
  return first, seek(first + 1, to, function(other) return string.sub(other, 1, length) == prefix end)
end

-- The ranks of [from, to), all of one fill, whose keys have the name that the filter asks for: one or two ranges.
local function stretches(filter, from, to)
  if filter.length == 0 then return { { from, to } } end
  local first, last = seek_prefix(from, to, filter.prefix)
  if not filter.isFamily then return { { first, last } } end
  local head = first < last and redis.call('ZRANGE', K.fill, first, first)[1] == filter.prefix and 1 or 0
  local below, behind = seek_prefix(first + head, last, filter.prefix .. '/')
  return { { first, first + head }, { below, behind } }
end
