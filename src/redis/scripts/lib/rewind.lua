-- After the clock was set back, times of buckets that are too far ahead are brought back: one page of buckets at each claim.

-- Where buckets have quotas, each takes several times as long, and the same call hands jobs over.
local PAGE, PAGE_WITH_QUOTAS = 50, 12

local function bring_times_back(bucket, now)
  bucket.from, bucket.lastStart = math.min(bucket.from, now), math.min(bucket.lastStart, now)
  local farthest = farthest_next(bucket, now)
  if bucket.next > farthest then bucket.next, bucket.carry = farthest, 0 end
  usage.clamp(bucket, now)
end

local function bring_back(bucket, meta, now)
  bring_times_back(bucket, now)
  for _, total in ipairs(bucket.member and family.totals_of(bucket) or {}) do
    bring_times_back(total, now)
    family.touch(total)
  end
  reschedule(bucket, meta)
end

-- Returns whether there is more to do.
local function rewind(meta, now)
  if meta.rewind == '' then return false end
  local page = redis.call('HSCAN', K.buckets, meta.rewind, 'COUNT', meta.hasQuotas and PAGE_WITH_QUOTAS or PAGE)
  for index = 1, #page[2], 2 do
    -- A bucket that cannot be read must not hold up the others; a verb that names it raises the error.
    local is_readable, bucket = pcall(read_bucket_and_line, page[2][index])
    if is_readable and bucket then bring_back(bucket, meta, now) end
  end
  local is_over = page[1] == '0'
  redis.call('HSET', K.meta, 'rewind', is_over and '' or page[1])
  return not is_over
end
