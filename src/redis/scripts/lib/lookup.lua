-- Reading a job together with its state and its bucket.

-- Returns the state of a job that was handed over, and its bucket; whether one of them is foreign, and whether a part is missing.
-- An error is returned and not raised, because it must not stop the other jobs of the call. `is_whole`: the caller may touch
-- all lists of the bucket. `is_of_first`: it touches any only for the job that was handed over first. For one behind it, the bucket
-- `isBehind`, and no more is read of it. `known`: states and buckets that are not written yet, by id and key.
local read_handed
do
  local function read(id, is_whole, is_of_first, known)
    local state = known and known.states[id] or read_state(id)
    local bucket = state.key ~= '' and (known and known.buckets[state.key] or read_bucket(state.key)) or nil
    if not bucket then return state end
    local first = is_of_first and redis.call('LINDEX', K.handed .. bucket.suffix, 0)
    bucket.isBehind = is_of_first and parse_member(first or '') ~= id
    if is_whole then read_line(bucket) elseif not (first and bucket.isBehind) then read_list(bucket, 'handed') end
    return state, bucket
  end

  function read_handed(...)
    local ok, state, bucket = pcall(read, ...)
    if ok then return state, bucket, false, false end
    -- Depends on the version of Redis.
    local message = type(state) == 'table' and state.err or tostring(state)
    return nil, nil, true, string.find(message, 'VR_PARTIAL', 1, true) ~= nil
  end
end

local function read_waiting(id)
  local job = read_job(id)
  if not job then return nil end
  return job, read_state(id), read_bucket_and_line(job.key)
end
