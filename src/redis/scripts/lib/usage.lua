-- The further parts of a bucket's limit, beside its pace, and what its quotas count: src/core/usage.ts. A limit has them as JSON
-- behind a line break; without them nothing here reads or writes, and no other library of them is made.

-- Whether the call leaves what it can to the next one; `jobs`: so many it has dealt with. Without quotas it deals with all.
function usage.is_enough(jobs)
  local JOB, MOST = 5, 360
  return usage.work > 0 and usage.work + jobs * JOB >= MOST
end

-- Whether a job names costs: they stand behind its settings.
function usage.names_costs(settings)
  return string.find(settings, ' ', 1, true) ~= nil
end

function usage.has_parts(limit)
  return string.find(limit, '\n', 1, true) ~= nil
end

-- Limits that are a pace alone: a call meets few of them.
local paces = {}

-- The parts, and what counts in each quota; nil where the limit has none.
function usage.of(bucket)
  local limit = bucket.limit
  if paces[limit] then return nil end
  if bucket.partsOf ~= limit then
    bucket.partsOf, bucket.parts = limit, usage.has_parts(limit) and usage.parts_of(limit) or nil
    if not bucket.parts then paces[limit] = true end
  end
  local parts = bucket.parts
  if parts and not bucket.use then
    bucket.use = usage.read(bucket, parts)
    if not known_meta or known_meta.lostAt ~= 0 then usage.allow_for_loss(bucket) end
  end
  return parts, bucket.use
end

-- Whether every place is taken, by what runs or was handed over; `taken`: by so many.
function usage.is_full(bucket, taken)
  local parts = usage.of(bucket)
  return parts ~= nil and parts.places ~= nil and taken >= parts.places
end

-- Whether its rate is high, and its pace alone decides.
function usage.is_fast(bucket)
  return bucket.interval <= usage.RUN_INTERVAL and not bucket.isTotal and not bucket.member and bucket.warmUp == 0 and not usage.of(bucket)
end

-- Whether a worker may start its jobs in a row, without asking for each slot: see run.lua.
function usage.may_run(bucket)
  return bucket.turns == 0 and usage.is_fast(bucket)
end

-- The bucket, and all totals above it.
function usage.limited(bucket)
  local limited = { bucket }
  for _, total in ipairs(bucket.member and family.totals_of(bucket) or {}) do limited[#limited + 1] = total end
  return limited
end

-- Whether an attempt holds a place while it runs ('1' | '0'); nil: its limit is a pace alone, and so are those of the totals above.
function usage.places_of(bucket)
  local answer
  for _, one in ipairs(usage.limited(bucket)) do
    local parts = usage.of(one)
    if parts then answer = (parts.places or answer == '1') and '1' or '0' end
  end
  return answer
end

-- The parts where one of them may hold a job; nil: the pace alone does.
function usage.binding(bucket)
  local parts = usage.of(bucket)
  return parts and parts.isBinding and parts or nil
end
