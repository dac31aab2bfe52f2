-- After a restart of the server, what was handed over before and has no slot goes back to its line, whatever its lease: its delivery may
-- be lost, which no record says. One that is not lost is void as soon as the job is handed over again.

-- Adds a job to the answer of `recover`.
local function report(answer, values, fate)
  for _, value in ipairs(values) do answer[#answer + 1] = value end
  answer[#answer + 1] = fate
end

-- The job goes back to its line with those that were handed over after it, and the answer of `recover` names all of them, in their order.
local function send_back_and_report(bucket, meta, id, now, answer)
  local sent = {}
  send_back(bucket, meta, id, now, sent)
  for index = #sent, 1, -1 do report(answer, sent[index], 'waits') end
end

-- Looks at one page of the leases, and adds what it sends back to the answer of `recover`, and whether pages are left.
local function send_again(meta, now, answer)
  if meta.resend == '' then return end
  local function look_at_page(cursor, last_epoch)
    local page = redis.call('ZSCAN', K.leases, cursor, 'COUNT', MOST_SWEPT)
    for index = 1, #page[2], 2 do
      local is_known, known = pcall(read_state, page[2][index])
      if is_known and known.state == 'handed' and known.epoch <= last_epoch then
        -- What is left of this page has its turn in the next call.
        if meta.sentBack >= MOST_SENT_BACK then return cursor end
        local is_readable, _, _, bucket = pcall(read_waiting, known.id)
        if is_readable and bucket then
          send_back_and_report(bucket, meta, known.id, now, answer)
          reschedule(bucket, meta)
        end
      end
    end
    return page[1]
  end
  local cursor, last_epoch = string.match(meta.resend, '^(%d+) (%d+)$')
  local next_ = cursor and look_at_page(cursor, tonumber(last_epoch)) or '0'
  local is_over = next_ == '0' and meta.sentBack < MOST_SENT_BACK
  answer[2] = is_over and '0' or '1'
  redis.call('HSET', K.meta, 'resend', is_over and '' or next_ .. ' ' .. last_epoch)
end
