#!lua flags=no-writes
-- One slice of the live buckets that a query asks for, sorted by fill, from a place on. Where the keys are enough to judge them,
-- records are not read, and ranges of keys are counted at once.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting counted view filter ranks member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', how many are wanted, whether to go on counting when they are found ('1' | '0'), 'down' | 'up', the filter (see
--          read_filter), where to go on: 'start' | 'at' | 'past', fill | '', key | ''
-- Answers  { 'unready' } where not every live bucket stands in the set, as on a line of an older version
--          | { 'ok', how many are within the bounds of fill, counted, where it stopped: 'end' | 'at' | 'past', fill, key,
--            then for each that is wanted: fill, key }

-- Members of the set; reading a record counts as this many, and a binary search as that many.
local MOST_READS, RECORD, SEARCH = 1000, 5, 100

expect_arguments(14)
local now = read_now(ARGV[1])
local wanted, goes_on, is_down = whole(ARGV[2]), ARGV[3] == '1', ARGV[4] == 'down'
local filter = read_filter(5)
-- Fewer buckets at a time where their jobs are read, too: up to 200 of each.
local WINDOW = filter.oldest and 5 or 100
local size = redis.call('ZCARD', K.fill)
if size ~= redis.call('HLEN', K.buckets) then return { 'unready' } end

local low = size - redis.call('ZCOUNT', K.fill, filter.min, '+inf')
local high = low + redis.call('ZCOUNT', K.fill, filter.min, filter.max)

local found, rows, counted, reads = {}, 0, 0, 0
local stop, stop_fill, stop_key = 'end', '', ''

local function visit(key, fill)
  if filter.needsRecord then
    local matches, jobs = is_wanted_key(filter, key, now)
    reads = reads + RECORD + jobs
    if not matches then return end
  end
  counted = counted + 1
  if rows == wanted then return end
  rows = rows + 1
  found[#found + 1], found[#found + 2] = fill, key
end

-- Walks over the buckets of one fill, which may be too many for one slice. Returns false where there are more of them.
local function walk_group(fill, from, to)
  reads = reads + (filter.length > 0 and SEARCH or 0)
  for _, stretch in ipairs(stretches(filter, from, to)) do
    local at, behind = stretch[1], stretch[2]
    while at < behind do
      if rows == wanted and not filter.needsRecord then
        counted, at = counted + behind - at, behind
      else
        local many = math.min(behind - at, WINDOW, filter.needsRecord and WINDOW or wanted - rows)
        local keys = redis.call('ZRANGE', K.fill, at, at + many - 1)
        for _, key in ipairs(keys) do visit(key, fill) end
        at, reads = at + many, reads + many
        local is_over = reads >= MOST_READS or rows == wanted and not goes_on
        if at < behind and is_over and (filter.needsRecord or rows < wanted) then
          stop, stop_fill, stop_key = 'at', fill, keys[#keys]
          return false
        end
      end
    end
  end
  return true
end

-- The ranks [low, high) are those still to be looked at.
local function walk()
  while low < high do
    if reads >= MOST_READS or rows == wanted and not goes_on then stop = 'past' return end
    local from = is_down and math.max(low, high - WINDOW) or low
    local flat = redis.call('ZRANGE', K.fill, from, math.min(high, from + WINDOW) - 1, 'WITHSCORES')
    local many, step = #flat / 2, is_down and -1 or 1
    reads = reads + many
    local near, far = is_down and many or 1, nil
    while near >= 1 and near <= many do
      local fill = flat[near * 2]
      far = near
      while flat[(far + step) * 2] == fill do far = far + step end
      local is_cut = is_down and far == 1 and from > low or not is_down and far == many and from + many < high
      -- A fill that continues beyond the window is walked from its beginning.
      if is_cut and near ~= (is_down and many or 1) then break end
      stop_fill = fill
      if is_cut then
        local below, to = members_below(tonumber(fill)), members_to(tonumber(fill))
        if not walk_group(fill, math.max(low, below), math.min(high, to)) then return end
        near, many = 0, 0
        if is_down then high = below else low = to end
      else
        for index = math.min(near, far), math.max(near, far) do
          local key = flat[index * 2 - 1]
          if has_name(filter, key) then visit(key, fill) end
        end
        near = far + step
        if is_down then high = from + near else low = from + near - 1 end
      end
    end
  end
end

local function go_on(kind, fill, key)
  local below, to = members_below(fill), members_to(fill)
  local is_whole = true
  if kind == 'at' and below >= low and to <= high then
    local after = seek_after(below, to, key)
    is_whole = walk_group(string.format('%.17g', fill), after, to)
  end
  if is_down then high = math.min(high, below) else low = math.max(low, to) end
  if is_whole then
    stop_fill = string.format('%.17g', fill)
    walk()
  end
end

local within = high - low
if ARGV[12] == 'start' then walk() else go_on(ARGV[12], number(ARGV[13]), ARGV[14]) end
local answer = { 'ok', within, counted, stop, stop_fill, stop_key }
for _, value in ipairs(found) do answer[#answer + 1] = value end
return answer
